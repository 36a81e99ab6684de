package jobs

import "fmt"

// ids notices an id that comes twice, in 20-odd bytes a row.
type ids struct {
	places map[digest]uint32 // lines (elements, of an array), counted on over all files
	files  []idFile
	last   uint32
}

// idFile is where the places of a file begin.
type idFile struct {
	name string
	base uint32
}

// use notes the row's id. Where another row had it, that row's place is told instead,
// as seen from this one.
func (s *ids) use(row RenderedRow) (taken string) {
	if s.places == nil {
		s.places = map[digest]uint32{}
	}
	if n := len(s.files); n == 0 || s.files[n-1].name != row.File {
		s.files = append(s.files, idFile{row.File, s.last})
	}
	at := s.files[len(s.files)-1].base + uint32(row.Line)
	if row.Element > 0 {
		at = s.files[len(s.files)-1].base + uint32(row.Element)
	}
	d := digestOf(row.ID)
	if was, ok := s.places[d]; ok {
		return s.place(was, row)
	}
	s.places[d] = at
	s.last = max(s.last, at)
	return ""
}

func (s *ids) place(at uint32, from RenderedRow) string {
	unit := "line"
	if from.Element > 0 {
		unit = "element"
	}
	for i := len(s.files) - 1; ; i-- {
		f := s.files[i]
		switch {
		case at <= f.base && i > 0:
			continue
		case f.name == from.File:
			return fmt.Sprintf("%s %d", unit, at-f.base)
		}
		return fmt.Sprintf("%s, %s %d", f.name, unit, at-f.base)
	}
}
