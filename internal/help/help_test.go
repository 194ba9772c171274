package help_test

import (
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/help"
	"github.com/dpproxy/dpproxy/internal/refusal"
)

// TestTopics: what hints name is there, whole without a file, and each topic once.
func TestTopics(t *testing.T) {
	list, err := help.Topics()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, topic := range list {
		if texts[topic.Name] != "" || topic.Text == "" {
			t.Errorf("topic %q is twice, or empty", topic.Name)
		}
		for _, markup := range []string{"](", "<!--", "\n# "} {
			if strings.Contains(topic.Text, markup) {
				t.Errorf("topic %q has %q", topic.Name, markup)
			}
		}
		texts[topic.Name] = topic.Text
	}
	for _, reason := range refusal.All() {
		if texts[reason.Anchor()] == "" {
			t.Errorf("%s returns nothing", reason.Help())
		}
	}
	for name, want := range map[string]string{
		"refusals": "A refusal costs nothing.", "read-only": "-- after\nWITH", "functions": "| `width_bucket` |",
		"operators":  "| operator | of |",
		"aggregates": "| `percentile_cont`, `percentile_disc` |", "sql": "| aggregates |", "introspection": "`pg_class`",
		"dpproxy.epsilon": "what a statement costs", "dpproxy.interval_high": "ends of the 95% interval",
		"dpproxy.help": "reasons of refusals",
	} {
		if !strings.Contains(texts[name], want) {
			t.Errorf("topic %q has no %q:\n%.300s", name, want, texts[name])
		}
	}
	if strings.Contains(texts["small-groups"], "Grouping sets") ||
		strings.Contains(texts["too-much-work"], "administrator") {
		t.Error("a section runs into the next")
	}
}
