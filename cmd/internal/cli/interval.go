package cli

import "math"

// expected is what the mean of a population is expected to be by a sample of it:
// mean ± t·s/√n at 95 %, with the correction for a finite population, so that a
// sample of all of it is exact. It never goes below what no value is below: 0. Of
// one value nothing can be told about the spread: it is taken for half to double.
func expected(sample []float64, population int64) (low, mid, high float64) {
	n := float64(len(sample))
	if n == 0 {
		return 0, 0, 0
	}
	var sum, squares float64
	for _, v := range sample {
		sum += v
	}
	mid = sum / n
	if int64(len(sample)) >= population {
		return mid, mid, mid
	}
	if len(sample) == 1 {
		return mid / 2, mid, mid * 2
	}
	for _, v := range sample {
		squares += (v - mid) * (v - mid)
	}
	big := float64(population)
	err := math.Sqrt(squares/(n-1)/n) * math.Sqrt((big-n)/(big-1))
	err *= student(len(sample) - 1)
	return max(0, mid-err), mid, mid + err
}

// normal95 is what 95 % of a normal distribution stays within, in deviations.
const normal95 = 1.959964

// student is the quantile of Student's t for a two-sided 95 %: exact where the
// series is not (one and two degrees of freedom), else by the expansion in 1/df of
// Abramowitz and Stegun, 26.7.5, to the third digit.
func student(df int) float64 {
	switch df {
	case 1:
		return 12.706
	case 2:
		return 4.303
	}
	const z = normal95
	v := float64(df)
	z2 := z * z
	g1 := (z2 + 1) * z / 4
	g2 := ((5*z2+16)*z2 + 3) * z / 96
	g3 := (((3*z2+19)*z2+17)*z2 - 15) * z / 384
	return z + g1/v + g2/(v*v) + g3/(v*v*v)
}

// rate is the part of a population that k of n in a sample stand for, at 95 %:
// Wilson's interval, which holds for few and for none too.
func rate(k, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	const z2 = normal95 * normal95
	of, p := float64(n), float64(k)/float64(n)
	mid := (p + z2/(2*of)) / (1 + z2/of)
	half := normal95 * math.Sqrt(p*(1-p)/of+z2/(4*of*of)) / (1 + z2/of)
	return max(0, mid-half), min(1, mid+half)
}
