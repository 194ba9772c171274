package console

import (
	"net/http"
	"strings"
)

// topic is a row of dpproxy.help.
type topic struct{ Name, Text string }

const helpSQL = "SELECT topic, text FROM dpproxy.help"

// helpOf is the topic that a hint names: hints of refusals end with a statement that returns it.
func helpOf(hint string) string {
	_, rest, _ := strings.Cut(hint, helpHint)
	name, _, _ := strings.Cut(rest, "'")
	return name
}

const helpHint = "SELECT text FROM dpproxy.help WHERE topic = '"

func (c *Console) showHelp(w http.ResponseWriter, r *http.Request, x *session) {
	a, err := x.client.ask(r.Context(), price{}, helpSQL)
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	defer a.release()
	topics := make([]topic, len(a.Rows))
	for i := range a.Rows {
		topics[i] = topic{a.text(i, "topic"), a.text(i, "text")}
	}
	c.render(w, r, http.StatusOK, "help", "Help", topics)
}
