package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"sync"
)

// What pages load: by hand, but for editor.js, chart.js and licences, which `make web` bundles from web/.
//
//go:embed assets
var assets embed.FS

// asset is a file as it is served.
type asset struct {
	body, packed []byte // packed by gzip
	version      string // of its bytes
	contentType  string
}

// contentTypes are those of the assets; what the machine believes of endings has no part in it.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	"": "text/plain; charset=utf-8",
}

// allAssets reads and packs them, once.
var allAssets = sync.OnceValue(func() map[string]asset {
	files, err := assets.ReadDir("assets")
	if err != nil {
		panic(err) // they are embedded
	}
	all := map[string]asset{}
	for _, f := range files {
		body, err := assets.ReadFile("assets/" + f.Name())
		if err != nil {
			panic(err)
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(body) // into memory
		_ = z.Close()
		sum := sha256.Sum256(body)
		all[f.Name()] = asset{body, packed.Bytes(), hex.EncodeToString(sum[:8]), contentTypes[path.Ext(f.Name())]}
	}
	return all
})

// assetAddress is where a page loads an asset from. Another version has another address, so browsers may keep it.
func assetAddress(name string) string { return "/assets/" + name + "?v=" + allAssets()[name].version }

// served answers with what is embedded.
func served() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := allAssets()[strings.TrimPrefix(r.URL.Path, "/assets/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Cache-Control", "no-cache")
		if r.URL.Query().Get("v") == a.version {
			h.Set("Cache-Control", "private, max-age=31536000, immutable")
		}
		h.Set("ETag", `"`+a.version+`"`)
		h.Set("Vary", "Accept-Encoding")
		h.Set("Content-Type", a.contentType)
		if r.Header.Get("If-None-Match") == h.Get("ETag") {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		body := a.body
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			body = a.packed
		}
		_, _ = w.Write(body) // fails if the browser is gone
	})
}
