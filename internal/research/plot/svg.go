package plot

import (
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// Lengths of a picture, px. The legend stands below, in two columns.
const (
	pictureWidth, pictureHeight = 720, 420
	left, right, top, bottom    = 80, 20, 40, 55
	legendRow                   = 18
)

// colors are those of Okabe and Ito that tell lines apart on white.
var colors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444"}

// Save writes the figure as an SVG file into a folder, and returns the file's name.
func (f Figure) Save(folder string) (name string, err error) {
	name = filepath.Join(folder, f.Name+".svg")
	return name, os.WriteFile(name, []byte(f.SVG()), 0o644)
}

// picture is an SVG that is being written.
type picture struct {
	strings.Builder
	x, y axis
	keys int // of the legend, so far
}

func (p *picture) across(v float64) float64 { return left + p.x.share(v)*(pictureWidth-left-right) }

func (p *picture) up(v float64) float64 {
	return pictureHeight - bottom - p.y.share(v)*(pictureHeight-top-bottom)
}

// add writes an element.
func (p *picture) add(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *picture) text(x, y float64, attributes, text string) {
	p.add(`<text x="%.1f" y="%.1f"%s>%s</text>`, x, y, attributes, html.EscapeString(text))
}

// SVG draws the figure with its axes, and a legend below.
func (f Figure) SVG() string {
	p := &picture{}
	p.x, p.y = f.axes()
	f.frame(p)
	f.shade(p)
	for i, l := range f.Lines {
		f.draw(p, i, l)
	}
	return fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="white"/>
%s</svg>
`, pictureWidth, pictureHeight+legendRow*((p.keys+1)/2), p)
}

// frame writes the title, and the axes with their ticks.
func (f Figure) frame(p *picture) {
	const end, floor = pictureWidth - right, pictureHeight - bottom
	p.text(pictureWidth/2, 22, ` font-size="14" text-anchor="middle"`, f.Title)
	p.text((left+end)/2, floor+40, ` text-anchor="middle"`, f.X)
	p.text(0, 0, fmt.Sprintf(` text-anchor="middle" transform="translate(18 %d) rotate(-90)"`, (top+floor)/2), f.Y)
	for _, v := range p.x.ticks() {
		p.add(`<path d="M%.1f %dV%d" stroke="#ddd"/>`, p.across(v), top, floor)
		p.text(p.across(v), floor+18, ` text-anchor="middle"`, fmt.Sprintf("%.6g", v))
	}
	name := func(v float64, label string) {
		p.add(`<path d="M%d %.1fH%d" stroke="#ddd"/>`, left, p.up(v), end)
		p.text(left-6, p.up(v)+4, ` text-anchor="end"`, label)
	}
	for i, label := range f.YNames {
		name(float64(i+1), label)
	}
	if f.YNames == nil {
		for _, v := range p.y.ticks() {
			name(v, fmt.Sprintf("%.6g", v))
		}
	}
	p.add(`<path d="M%d %dV%dH%d" fill="none" stroke="black"/>`, left, top, floor, end)
}

// shade writes the bands, as high as the plot.
func (f Figure) shade(p *picture) {
	const style = `fill="#d55e00" fill-opacity="0.2"`
	for _, b := range f.Bands {
		p.add(`<rect x="%.1f" y="%d" width="%.1f" height="%d" %s/>`, p.across(b.Lo), top, p.across(b.Hi)-p.across(b.Lo),
			pictureHeight-top-bottom, style)
		p.key(b.Name, `<rect x="%d" y="%d" width="26" height="10" `+style+`/>`, 5)
	}
}

// draw writes one line, in pieces where it is broken.
func (f Figure) draw(p *picture, i int, l Line) {
	color := i
	if l.Color > 0 {
		color = l.Color - 1
	}
	width := 1.8
	if f.YNames != nil {
		width = 6
	}
	style := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="%g"`, colors[color%len(colors)], width)
	if l.Dashed || color >= len(colors) { // a colour comes again
		style += ` stroke-dasharray="6 4"`
	}
	var path strings.Builder
	step := 'M'
	for j := range l.X {
		v := f.height(l.Y[j])
		if math.IsNaN(v) {
			step = 'M'
			continue
		}
		fmt.Fprintf(&path, "%c%.1f %.1f", step, p.across(l.X[j]), p.up(v))
		step = 'L'
	}
	p.add(`<path d="%s" %s/>`, path.String(), style)
	p.key(l.Name, `<path d="M%d %dh26" `+style+`/>`, 0)
}

// key adds a name to the legend, with a sample that is raised above the line. The format takes its x and y.
func (p *picture) key(name, sample string, raised int) {
	if name == "" {
		return
	}
	x, y := left+p.keys%2*(pictureWidth-left)/2, pictureHeight+legendRow*(p.keys/2)
	p.keys++
	p.add(sample, x, y-raised)
	p.text(float64(x+34), float64(y+4), "", name)
}
