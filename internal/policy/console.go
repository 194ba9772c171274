package policy

import (
	"regexp"
	"strings"
)

const defaultConsole = "127.0.0.1:6480"

// hostName is a name of DNS.
var hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// readConsole reads where the console listens. What it needs of TLS is what the wire needs.
func readConsole(v value, p *Policy) {
	if !v.given() {
		return
	}
	o := v.object("listen", "names")
	c := &Console{Listen: defaultConsole}
	listen := o.get("listen")
	if address, ok := listen.address(); ok {
		c.Listen = address
	}
	if p.TLS == nil && !p.Insecure && !loopback(c.Listen) {
		listen.fail("%s is reachable from other machines, so tls is needed (or insecure: true)", c.Listen)
	}
	for _, item := range o.get("names").items() {
		name, ok := item.text()
		if name = strings.ToLower(name); ok && hostName.MatchString(name) {
			c.Names = append(c.Names, name)
		} else if ok {
			item.fail("%s is not the name of a host, such as console.example.org: write it without scheme and port", quoted(name))
		}
	}
	p.Console = c
}
