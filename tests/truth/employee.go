package main

import (
	"fmt"
	"time"
)

// hires are how many of 300,000 people a firm has hired in each year since 1985.
var hires = []float64{
	35316, 36150, 33501, 31436, 28394, 25610, 22568, 20402, 17772, 14835, 12115, 9574, 6669, 4155, 1514, 13,
}

// departments are their people, of 300,000, and what is paid above the least.
var departments = []struct{ people, pay float64 }{
	{20211, 21000},
	{17346, 20000},
	{17786, 6000},
	{73485, 9000},
	{85707, 9000},
	{20117, 7500},
	{52245, 29000},
	{21126, 9500},
	{23580, 9000},
}

// ladders are titles with those that follow, and the share of the people.
var ladders = []struct {
	first, second string
	people        float64
}{{"Clerk", "Senior Clerk", 42}, {"Builder", "Senior Builder", 38}, {"Junior Builder", "Builder", 5}, {"Leader", "", 5}}

var forever = day(9999, 1, 1)

// lastDay is when the rows were written: who is still there has rows until forever.
var lastDay = day(2002, 8, 1)

// employee makes the rows of a firm of 10,000 people: their salaries since they were hired, one for each year.
func employee() *rows {
	r := newRows(1985)
	department := r.table("department (dept_no, dept_name)")
	person := r.table("employee (emp_no, birth_date, first_name, last_name, gender, hire_date)")
	works := r.table("dept_emp (emp_no, dept_no, from_date, to_date)")
	leads := r.table("dept_manager (emp_no, dept_no, from_date, to_date)")
	title := r.table("title (emp_no, title, from_date, to_date)")
	salary := r.table("salary (emp_no, amount, from_date, to_date)")
	sizes := make([]float64, len(departments))
	for i, d := range departments {
		sizes[i] = d.people
		department(fmt.Sprintf("d%03d", i+1), named("Department", i+1))
	}
	for no := 10001; no <= 20000; no++ {
		year := 1985 + r.pick(hires...)
		hired := r.between(day(year, 1, 1), day(year+1, 1, 1)).Truncate(24 * time.Hour)
		born := r.between(day(1952, 2, 1), day(1965, 2, 2)).Truncate(24 * time.Hour)
		person(no, born, named("Given", r.IntN(1275)), named("Family", r.IntN(1637)), []string{"M", "F"}[r.pick(6, 4)], hired)
		began, until := hired, forever // the first rows of some begin years later
		if late := hired.AddDate(r.IntN(10), r.IntN(12), 0); r.IntN(100) < 55 && late.Before(lastDay) {
			began = late
		}
		if left := r.between(began, lastDay).Truncate(24 * time.Hour); r.IntN(100) < 20 && left.After(began) {
			until = left
		}
		first := r.pick(sizes...)
		r.career(no, began, until, departments[first].pay, title, salary)
		moved, end := until, earlier(until, lastDay)
		if second := (first + 1 + r.IntN(8)) % 9; r.IntN(10) == 0 && began.AddDate(2, 0, 0).Before(end) {
			moved = r.between(began.AddDate(1, 0, 0), end).Truncate(24 * time.Hour)
			works(no, fmt.Sprintf("d%03d", second+1), moved, until)
		}
		works(no, fmt.Sprintf("d%03d", first+1), began, moved)
		if no%417 == 0 { // 24 lead a department
			leads(no, fmt.Sprintf("d%03d", first+1), began, moved)
		}
	}
	return r
}

// career makes the titles and the yearly salaries of one.
func (r *rows) career(no int, began, until time.Time, pay float64, title, salary func(...any)) {
	ladder := ladders[r.pick(ladders[0].people, ladders[1].people, ladders[2].people, ladders[3].people)]
	end := earlier(until, lastDay)
	if rise := began.AddDate(6+r.IntN(5), 0, 0); ladder.second != "" && rise.Before(end) {
		title(no, ladder.first, began, rise)
		title(no, ladder.second, rise, until)
	} else {
		title(no, ladder.first, began, until)
	}
	amount := 40000 + max(0, int(pay*r.ExpFloat64()*0.7+4000*r.NormFloat64()))
	for from := began; from.Before(end); {
		to := from.AddDate(1, 0, 0)
		if !to.Before(end) {
			to = until
		}
		salary(no, amount, from, to)
		from = to
		amount = max(38623, amount+int(1900+1800*r.NormFloat64()))
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
