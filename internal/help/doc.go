// Package help makes the rows of dpproxy.help of the pages in docs/, which are in the binary: a topic for each reason
// of a refusal, the functions and operators, the settings and what else dpproxy adds. Nothing is written twice.
package help
