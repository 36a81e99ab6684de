package gemini

// Fan gives records to each of several keepers, in order. Nil ones are left out.
func Fan(records ...Records) Records {
	var f fan
	for _, r := range records {
		if r != nil {
			f = append(f, r)
		}
	}
	return f
}

type fan []Records

func (f fan) Put(r Record) {
	for _, to := range f {
		to.Put(r)
	}
}
