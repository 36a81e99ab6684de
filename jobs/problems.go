package jobs

// Problem is one thing that is wrong with the input.
type Problem struct {
	File   string
	Line   int // 0: the whole file
	Column int // 0: the whole line
	Row    string
	Field  string
	What   string
	Remedy string
}

// InputError says all that is wrong with an input. Nothing was enqueued.
type InputError struct {
	Problems []Problem // the first MaxProblems, by line
	Total    int
}

// MaxProblems is how many problems an InputError lists; the rest are counted.
const MaxProblems = 20

func (e *InputError) Error() string { panic("being built") }
