package policy

import (
	"regexp"
	"strings"
)

// long are nouns that are written with a vowel and spoken with a consonant.
var long = regexp.MustCompile(`^(us|uni|eu|one)`)

// Indefinite puts the article before a unit's name: a patient, an employee, a user.
func Indefinite(noun string) string {
	lower := strings.ToLower(noun)
	if lower != "" && strings.ContainsRune("aeiou", rune(lower[0])) && !long.MatchString(lower) {
		return "an " + noun
	}
	return "a " + noun
}
