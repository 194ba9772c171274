package lineage

import (
	"slices"
	"strings"
	"unicode"
)

// People whom an institution serves, and people who work for it: words in names of tables whose rows are persons, or
// records of one. The first are what is mostly to be protected where a database has both.
var (
	served = []string{
		"patient", "person", "people", "user", "customer", "client", "member", "student", "subject", "household", "citizen",
		"resident", "passenger", "guest", "subscriber", "donor", "voter", "applicant", "pupil", "participant", "respondent",
		"tenant", "player", "visitor", "borrower", "policyholder", "taxpayer", "child",
	}
	serving = []string{
		"employee", "staff", "worker", "teacher", "driver", "account", "contact", "doctor", "physician", "nurse", "agent",
		"officer", "professor", "salesperson", "seller", "author", "contractor", "provider", "caregiver",
	}
)

// personalFacts are names of columns that hold facts about one person, also where their table has another name: an
// address that customers share a table for with shops.
var personalFacts = map[string]bool{
	"email": true, "mail": true, "phone": true, "mobile": true, "telephone": true, "fax": true, "street": true,
	"address": true, "birthday": true,
	"birthdate": true, "birth": true, "dob": true, "ssn": true, "passport": true, "iban": true, "password": true,
	"passwd": true, "surname": true,
	"firstname": true, "lastname": true, "fullname": true, "salary": true, "gender": true, "emailaddress": true,
	"cardnumber": true, "creditcard": true,
}

var (
	// records are words in names of tables whose rows say what happened, what people did or what they wrote.
	records = []string{
		"audit", "log", "history", "event", "note", "session", "message", "comment", "ticket", "complaint", "feedback",
		"review", "survey",
		"answer", "chat", "diary", "incident", "conversation", "login", "visit", "appointment", "booking", "reservation",
		"enrolment",
		"enrollment", "attendance", "subscription", "notification", "letter", "prescription", "claim",
		"cart", "shoppingcart", "basket", "wishlist", "archive",
	}
	// kinds end names of tables that list the kinds of something, which itself may be people's.
	kinds = []string{"type", "kind", "category", "status", "state", "class", "level", "code", "reason"}
	// named are the last words of columns that say which thing a row is about.
	named = []string{"name", "title", "label", "code"}
	// naming are the last words of texts that a dictionary has: what things are called, or which of few values they have.
	naming = append([]string{
		"abbreviation", "abbr", "acronym", "symbol", "slug", "key", "id", "url", "uri", "link", "homepage", "path", "file",
		"extension",
		"format", "version", "locale", "timezone", "icon", "color", "colour", "country", "continent", "region", "district",
		"county",
		"province", "city", "language", "culture", "currency", "unit", "brand", "maker", "manufacturer", "model", "size",
		"genre",
		"department", "ward", "specialty", "group", "synonym", "rating", "edition", "publisher", "composer", "variety",
		"species",
	}, append(slices.Clone(kinds), named...)...)
	// describing are the last words of texts that say more of a thing that has a name.
	describing = []string{
		"description", "desc", "summary", "definition", "instruction", "picture", "image", "photo",
		"fulltext", "keyword",
	}
	// writing are words of texts that people write, however short.
	writing = []string{
		"note", "comment", "remark", "message", "snippet", "memo", "feedback", "complaint", "answer",
		"body", "transcript", "query",
	}
)

// Ranks of tables by name, the likeliest last.
const (
	NoPerson = iota
	OfServing
	OfServed
)

// Rank says what a table's name tells of its rows: its last word, as in app_users and CrmCustomer.
func Rank(name string) int {
	all := words(name)
	if len(all) == 0 {
		return NoPerson
	}
	switch last := Singular(all[len(all)-1]); {
	case slices.Contains(served, last):
		return OfServed
	case slices.Contains(serving, last):
		return OfServing
	}
	return NoPerson
}

// Singular makes "patient" of "patients"; good enough for a name that a person may change.
func Singular(name string) string {
	name = strings.ToLower(name)
	switch {
	case name == "people":
		return "person"
	case name == "children":
		return "child"
	case name == "diagnoses":
		return "diagnosis"
	case strings.HasSuffix(name, "ies"):
		return strings.TrimSuffix(name, "ies") + "y"
	case strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "ss") && !strings.HasSuffix(name, "is") &&
		!strings.HasSuffix(name, "us"):
		return strings.TrimSuffix(name, "s")
	}
	return name
}

// words separates those of a name like crm_customer, CrmCustomer or "crm customer 2", in lower case.
func words(name string) []string {
	var b strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return strings.FieldsFunc(strings.ToLower(b.String()), func(r rune) bool { return !unicode.IsLetter(r) })
}

// squeezed makes one of customer_id, CustomerId and "customer id 2".
func squeezed(name string) string { return strings.Join(words(name), "") }

// personal reports whether a column's name is a fact about one person: birth_date, LastName, email2.
func personal(all []string) bool {
	if slices.Contains(all, "id") {
		return false // refers to where it stands
	}
	return personalFacts[strings.Join(all, "")] || slices.ContainsFunc(all, func(w string) bool {
		return personalFacts[w] || !strings.HasSuffix(w, "id") &&
			(strings.HasPrefix(w, "email") || strings.HasPrefix(w, "phone") ||
				strings.HasPrefix(w, "address") || strings.HasPrefix(w, "birth") || strings.HasSuffix(w, "address"))
	})
}

var (
	// apart are words of columns whose values tell rows apart, besides those that end keys.
	apart = []string{"serial", "zip", "zipcode", "postcode", "postal", "token", "hash", "barcode", "isbn", "ean", "sku"}
	// written are the last words of texts that are long or are places.
	written = []string{"text", "bio", "content", "url", "uri", "link", "path", "file", "filename"}
)

// Says reports whether a word of a column's name is on a list.
func Says(column string, list ...string) bool {
	return slices.ContainsFunc(words(column), func(w string) bool {
		return slices.Contains(list, w) ||
			slices.Contains(list, Singular(w))
	})
}

// Telling reports whether a column's name says that its values tell rows or people apart: keys, and of texts names,
// addresses and what somebody has written too.
func Telling(column string, text bool) bool {
	all := words(column)
	if len(all) == 0 {
		return false
	}
	last := Singular(all[len(all)-1])
	key := slices.Contains(vague, last) ||
		slices.ContainsFunc(vague[1:], func(tail string) bool {
			return strings.HasSuffix(last, tail) &&
				about([]string{last}) != ""
		})
	switch {
	case Says(column, apart...):
		return true
	case !text:
		return key
	case last == "code" || last == "gender": // of few values
		return false
	}
	return key || personal(all) || wrote(all) || ends(all, []string{"name"}) || ends(all, describing) ||
		slices.Contains(written, last)
}

// tails end a word that begins with whom it is about: userid, customername.
var tails = []string{"id", "key", "no", "nr", "num", "number", "code", "name", "modified"}

// about returns the word of a column's name that says people; empty: none. A child is mostly that of a tree.
func about(all []string) string {
	for _, w := range all {
		for _, tail := range append([]string{""}, tails...) {
			person := Singular(strings.TrimSuffix(w, tail))
			if person != "child" && strings.HasSuffix(w, tail) && (slices.Contains(served, person) ||
				slices.Contains(serving, person)) {
				return person
			}
		}
	}
	return ""
}

// recording returns the word of a table's name that says that it records something; empty: none. Names in one piece,
// such as labevents, are told by how they end, or by a long word in them.
func recording(all []string) string {
	if ends(all, kinds) {
		return ""
	}
	for _, w := range all {
		w = Singular(w)
		for _, r := range records {
			if w == r || len(r) >= len("event") && strings.HasSuffix(w, r) || len(r) >= len("history") &&
				strings.Contains(w, r) {
				return r
			}
		}
	}
	return ""
}

// ends reports whether the last word of a name is on a list, or ends with a word of it in one piece: filename.
func ends(all, list []string) bool {
	if len(all) == 0 {
		return false
	}
	last := Singular(all[len(all)-1])
	return slices.ContainsFunc(list, func(w string) bool {
		return last == w || len(w) >= len("name") &&
			strings.HasSuffix(last, w)
	})
}
