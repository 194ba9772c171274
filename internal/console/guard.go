package console

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// policyOfContent lets a page load its own style, script and images, and send its forms home. There is no inline script
// or style.
const policyOfContent = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard refuses requests that no page of the console makes, before anything looks at them.
func (c *Console) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policyOfContent)
		h.Set("X-Frame-Options", "DENY")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		h.Set("Cache-Control", "no-store")
		switch {
		case !c.known(r):
			// A page of another name that resolves to this address would be of the browser's opinion that it may read ours.
			c.fail(w, r, http.StatusMisdirectedRequest,
				"This server does not go by that name. console.names in the policy lists names besides its addresses.")
		case origins.Check(r) != nil, changes(r) && !spokenFor(r):
			c.fail(w, r, http.StatusForbidden, "This request comes from another site, and was not answered.")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// changes reports whether a request may change something.
func changes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// spokenFor reports whether a browser says where a request comes from: those that say nothing are refused, where
// http.CrossOriginProtection takes them for programs.
func spokenFor(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != ""
}

// known reports whether the Host of a request is a name of this server. An address always is: what DNS says has no part
// in it.
func (c *Console) known(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || host == "localhost" {
		return true
	}
	if slices.Contains(c.config.Names(), host) {
		return true
	}
	return r.TLS != nil && host != "" && names(c.config.TLS(), host)
}

// names reports whether a certificate of the configuration is one of the host.
func names(config *tls.Config, host string) bool {
	if config == nil {
		return false
	}
	for _, certificate := range config.Certificates {
		leaf := certificate.Leaf
		if leaf == nil && len(certificate.Certificate) > 0 {
			leaf, _ = x509.ParseCertificate(certificate.Certificate[0]) // nil: of no host
		}
		if leaf != nil && leaf.VerifyHostname(host) == nil {
			return true
		}
	}
	return false
}

// cookie is the session's. With TLS its name makes browsers refuse one that came without, or from another name.
func (c *Console) cookie(value string) *http.Cookie {
	k := &http.Cookie{
		Name: "dpproxy", Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: c.secure,
	}
	if c.secure {
		k.Name = "__Host-dpproxy"
	}
	if value == "" {
		k.MaxAge = -1
	}
	return k
}

// identifier is what a request says of its session.
func (c *Console) identifier(r *http.Request) string {
	k, err := r.Cookie(c.cookie("").Name)
	if err != nil {
		return ""
	}
	return k.Value
}

// hostOf is the address of a client, without its port.
func hostOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
