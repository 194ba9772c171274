// Package gate says to certify what is known of main's tables and what a plan charges for.
package gate
