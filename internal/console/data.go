package console

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
)

// dataColumn is a column of an answer, as a script draws it.
type dataColumn struct {
	Name   string `json:"name"`
	Number bool   `json:"number"`
	Time   bool   `json:"time"`
	Key    bool   `json:"key"`   // it says what a row is about
	Drawn  bool   `json:"drawn"` // rows have its interval
	Heads  int    `json:"heads"` // columns of the table that show it
}

// dataRow is a row: its values as the wire has them, as the table shows them, and, by column, value and interval.
type dataRow struct {
	Values []*string             `json:"values"`
	Shown  []string              `json:"shown"`
	Points map[string][3]float64 `json:"points"`
}

// answerJSON sends an answer of this session to the script that sorts and draws it.
func (c *Console) answerJSON(w http.ResponseWriter, r *http.Request, x *session) {
	a := c.kept(w, r, x)
	if a == nil {
		return
	}
	defer a.release()
	out := pageBuffer{hold: accountOf(r).Hold()}
	defer out.hold.Free()
	if err := a.writeJSON(&out); err != nil {
		c.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out.Bytes()) // fails if the browser is gone
}

// writeJSON writes an answer row by row: what a row takes beside is little.
func (a *answer) writeJSON(out *pageBuffer) error {
	columns := a.accuracies()
	list := make([]dataColumn, 0, len(columns))
	for i, k := range columns {
		if k.isEnd {
			continue
		}
		d := dataColumn{
			Name: a.Columns[i].Name, Number: isNumber(a.Columns[i].OID), Time: isTime(a.Columns[i].OID),
			Key: k.isKey(), Drawn: k.drawn(a.Columns[i]), Heads: 1,
		}
		if k.released {
			d.Heads = 2
		}
		list = append(list, d)
	}
	write := func(before string, v any) error {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		_, errBefore := out.Write([]byte(before))
		_, err = out.Write(text)
		return errors.Join(errBefore, err)
	}
	err := write(`{"columns":`, list)
	between := `,"rows":[`
	for _, row := range a.Rows {
		err = errors.Join(err, write(between, a.dataRow(columns, row)))
		between = ","
		if err != nil {
			return err
		}
	}
	if len(a.Rows) == 0 {
		_, err = out.Write([]byte(between))
	}
	_, last := out.Write([]byte("]}"))
	return errors.Join(err, last)
}

func (a *answer) dataRow(columns []accuracy, row []cell) dataRow {
	d := dataRow{Points: map[string][3]float64{}}
	for _, c := range a.shownRow(columns, row) {
		d.Shown = append(d.Shown, c.Text)
	}
	for i, k := range columns {
		if k.isEnd {
			continue
		}
		at := strconv.Itoa(len(d.Values))
		if row[i].Null {
			d.Values = append(d.Values, nil)
		} else {
			d.Values = append(d.Values, &row[i].Text)
		}
		v, err := strconv.ParseFloat(row[i].Text, 64)
		if err != nil || !k.drawn(a.Columns[i]) || math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		low, high := k.around(row, v)
		if k.ends == nil && v >= 0 {
			low = math.Max(low, 0) // as in bars
		}
		if !math.IsInf(low, 0) && !math.IsInf(high, 0) && !math.IsNaN(low) && !math.IsNaN(high) {
			d.Points[at] = [3]float64{v, low, high}
		}
	}
	return d
}
