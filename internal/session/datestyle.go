package session

import "strings"

// checkDateStyle reads a list of words over the current style, as PostgreSQL's check_datestyle does: a style and an
// order may be given together, or one of them alone.
func checkDateStyle(current, reset, value string) (string, error) {
	style, order := splitDateStyle(current)
	haveStyle, haveOrder := false, false
	for _, word := range strings.Split(value, ",") {
		newStyle, newOrder := "", ""
		switch w := strings.ToUpper(strings.TrimSpace(word)); {
		case w == "ISO" || w == "SQL":
			newStyle = w
		case strings.HasPrefix(w, "POSTGRES"):
			newStyle = "Postgres"
		case strings.HasPrefix(w, "GERMAN"):
			newStyle = "German"
			if !haveOrder {
				order = "DMY"
			}
		case w == "YMD":
			newOrder = "YMD"
		case w == "DMY" || strings.HasPrefix(w, "EURO"):
			newOrder = "DMY"
		case w == "MDY" || w == "US" || strings.HasPrefix(w, "NONEURO"):
			newOrder = "MDY"
		case w == "DEFAULT":
			style, order = splitDateStyle(reset)
		default:
			return "", invalidValue("DateStyle", value)
		}
		if newStyle != "" {
			if haveStyle && newStyle != style {
				return "", conflictingDateStyle(value)
			}
			style, haveStyle = newStyle, true
		}
		if newOrder != "" {
			if haveOrder && newOrder != order {
				return "", conflictingDateStyle(value)
			}
			order, haveOrder = newOrder, true
		}
	}
	return style + ", " + order, nil
}

func splitDateStyle(s string) (style, order string) {
	style, order, _ = strings.Cut(s, ", ")
	return style, order
}

func conflictingDateStyle(value string) error {
	e := invalidValue("DateStyle", value)
	e.Detail = `Conflicting "datestyle" specifications.`
	return e
}
