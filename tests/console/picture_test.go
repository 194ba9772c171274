package console_test

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/chromedp"
)

// The pictures of docs/images are made by: go test ./tests/console -run TestADay -args -screenshots ../../docs/images
var screenshots = flag.String("screenshots", "", "folder that gets a picture of each page")

// tallest is the height of a picture in pixels: longer pages are cut.
const tallest = 1500

// picture keeps the page as it is, where -screenshots asks for it.
func (b *browser) picture(name string) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	b.run(chromedp.Sleep(300 * time.Millisecond))
	taken, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	page, err := png.Decode(bytes.NewReader(taken))
	if err != nil {
		b.t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(*screenshots, name+".png"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer file.Close()
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(file, fewColours(page)); err != nil {
		b.t.Fatal(err)
	}
}

// fewColours draws a picture in its 256 most frequent colours, which is a third of the size.
func fewColours(page image.Image) image.Image {
	area := page.Bounds()
	area.Max.Y = min(area.Max.Y, tallest)
	often := map[color.Color]int{}
	each := func(do func(x, y int, c color.Color)) {
		for y := area.Min.Y; y < area.Max.Y; y++ {
			for x := area.Min.X; x < area.Max.X; x++ {
				do(x, y, page.At(x, y))
			}
		}
	}
	each(func(_, _ int, c color.Color) { often[c]++ })
	var colours color.Palette
	for c := range often {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.Color) int { return often[b] - often[a] })
	small := image.NewPaletted(area, colours[:min(256, len(colours))])
	index := map[color.Color]uint8{}
	each(func(x, y int, c color.Color) {
		at, known := index[c]
		if !known {
			at = uint8(small.Palette.Index(c))
			index[c] = at
		}
		small.SetColorIndex(x, y, at)
	})
	return small
}
