package gemini

import "math"

// shape is what the input of a request is made of, in tokens by rule.
type shape struct {
	words   float64 // of ASCII letters
	signs   float64 // digits, punctuation and blanks of ASCII, and what a turn costs
	han     float64 // ideographs
	foreign float64 // all else beyond ASCII
	media   float64 // pictures, sound, film, pages and cached contents
}

func (s shape) tokens() float64 { return s.words + s.signs + s.han + s.foreign + s.media }

// scale is what ratios are relative to: the tokens by rule, and so many that a
// request of a few words has no more pull than others.
func (s shape) scale() float64 { return s.tokens() + fixedTokens }

// parts are what the fit weighs, relative to the scale. The first one stands for
// what the provider adds to every call.
func (s shape) parts() [fitParts]float64 {
	x := s.scale()
	return [fitParts]float64{fixedTokens / x, s.words / x, s.signs / x, s.han / x, s.foreign / x, s.media / x}
}

const (
	fitParts    = 6
	fitCross    = fitParts * (fitParts + 1) / 2
	fixedTokens = 64
	fitForget   = 0.99 // what an earlier call weighs after each further one: some hundred count
	ratioHigh   = 5.0  // bounds of a correction
	ratioLow    = 0.2  //
)

// Before anything was seen the rules' own weights hold: nothing fixed, all else as
// it is counted. They count for so many calls. What was not seen stays at them.
var (
	fitPriors = [fitParts]float64{0, 1, 1, 1, 1, 1}
	fitTrust  = [fitParts]float64{0.005, 0.1, 0.1, 0.1, 0.1, 0.1}
)

// fit explains the ratio of real input to the scale by a weight for each part, by
// least squares with forgetting. All of it are sums, so that what several
// processes learned can be added up.
type fit struct {
	weight float64           // of the calls that are remembered
	square float64           // sum of ratio²
	cross  [fitCross]float64 // sums of part × part, by rows from the diagonal on
	real   [fitParts]float64 // sums of part × ratio
}

// fade takes weight off all that was learned.
func (f *fit) fade(by float64) {
	f.weight *= by
	f.square *= by
	for i := range f.cross {
		f.cross[i] *= by
	}
	for i := range f.real {
		f.real[i] *= by
	}
}

func (f *fit) merge(o fit) {
	f.weight += o.weight
	f.square += o.square
	for i, v := range o.cross {
		f.cross[i] += v
	}
	for i, v := range o.real {
		f.real[i] += v
	}
}

// add takes a call's ratio.
func (f *fit) add(s shape, ratio float64) {
	p := s.parts()
	f.fade(fitForget)
	f.weight++
	f.square += ratio * ratio
	at := 0
	for i := range p {
		f.real[i] += p[i] * ratio
		for j := i; j < fitParts; j++ {
			f.cross[at] += p[i] * p[j]
			at++
		}
	}
}

// line is a fit worked out.
type line struct {
	weights [fitParts]float64
	spread  float64 // standard deviation of the ratio about what the weights say
}

func (l line) ratio(s shape) (r float64) {
	for i, p := range s.parts() {
		r += l.weights[i] * p
	}
	return r
}

func (f *fit) solve() (l line) {
	m, b := f.matrix(), f.real
	for i, prior := range fitPriors {
		m[i][i] += fitTrust[i]
		b[i] += fitTrust[i] * prior
	}
	l.weights = solve(m, b)
	l.spread = math.Sqrt(max(0, f.rest(l.weights)) / max(1, f.weight-fitParts))
	return l
}

// unlike tells whether a shape is half as long again as the calls that were remembered,
// or shorter by as much.
func (f *fit) unlike(s shape) bool {
	if f.cross[0] <= 0 {
		return true
	}
	usual := fixedTokens / math.Sqrt(f.cross[0]/max(1, f.weight)) // the first part is fixedTokens over the scale
	return s.scale() > 1.5*usual || usual > 1.5*s.scale()
}

// rest is the sum of squares that weights leave unexplained.
func (f *fit) rest(w [fitParts]float64) float64 {
	sum := f.square
	for i, row := range f.matrix() {
		sum -= 2 * w[i] * f.real[i]
		for j, v := range row {
			sum += w[i] * w[j] * v
		}
	}
	return sum
}

func (f *fit) matrix() (m [fitParts][fitParts]float64) {
	at := 0
	for i := range m {
		for j := i; j < fitParts; j++ {
			m[i][j], m[j][i] = f.cross[at], f.cross[at]
			at++
		}
	}
	return m
}

// solve is Gauss's elimination; the matrix is symmetric and, by the priors on
// its diagonal, positive.
func solve(m [fitParts][fitParts]float64, b [fitParts]float64) (x [fitParts]float64) {
	for i := range b {
		for r := i + 1; r < len(b); r++ {
			q := m[r][i] / m[i][i]
			for k := i; k < len(b); k++ {
				m[r][k] -= q * m[i][k]
			}
			b[r] -= q * b[i]
		}
	}
	for i := len(b) - 1; i >= 0; i-- {
		x[i] = b[i]
		for k := i + 1; k < len(b); k++ {
			x[i] -= m[i][k] * x[k]
		}
		x[i] /= m[i][i]
	}
	return x
}
