package report

import (
	"fmt"
	"image/color"
)

// The colours of the figures. Inline SVG replaces the first group by the page's variables, so that the figures follow light and
// dark; the lines' colours keep their contrast on both.
var (
	ink    = color.RGBA{0x1f, 0x23, 0x28, 0xff}
	muted  = color.RGBA{0x65, 0x6d, 0x76, 0xff}
	rule   = color.RGBA{0xd8, 0xde, 0xe4, 0xff}
	shade  = color.RGBA{0xf0, 0xf3, 0xf6, 0xff}
	warmUp = color.RGBA{0xe2, 0xe7, 0xec, 0xff}
	paper  = color.RGBA{0xff, 0xff, 0xff, 0xff}

	limitColour  = color.RGBA{0xd1, 0x3b, 0x3b, 0xff}
	changeColour = color.RGBA{0x8f, 0x5a, 0xe8, 0xff}
)

// variables are the page's names of the colours that change between light and dark.
var variables = map[color.RGBA]string{
	ink: "var(--ink)", muted: "var(--muted)", rule: "var(--rule)", shade: "var(--shade)", warmUp: "var(--warm-up)", paper: "var(--paper)",
}

// workerColours are told apart by most colour-blind readers (after Okabe and Ito), and repeat.
var workerColours = []color.RGBA{
	{0x2b, 0x7b, 0xd6, 0xff}, {0xd9, 0x77, 0x06, 0xff}, {0x12, 0x9c, 0x78, 0xff}, {0xb8, 0x5c, 0xa8, 0xff},
	{0x8a, 0x8f, 0x1e, 0xff}, {0x3d, 0xa9, 0xc9, 0xff}, {0xc4, 0x4e, 0x52, 0xff}, {0x7a, 0x68, 0xc8, 0xff},
}

func workerColour(i int) color.RGBA { return workerColours[i%len(workerColours)] }

// hex is the colour as the SVG canvas writes it.
func hex(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }
