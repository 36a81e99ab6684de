package jobs

import (
	"encoding/json"
	"fmt"
	"strings"
)

// messages reads a chat completion's conversation.
func (o lineObject) messages(r *Request) error {
	var all []json.RawMessage
	if err := o.read("messages", &all); err != nil {
		return err
	}
	var system []string
	for i, text := range all {
		m, err := newLineObject(fmt.Sprintf("%s.messages[%d]", o.at, i), text)
		if err != nil {
			return err
		}
		t, err := m.message()
		switch {
		case err != nil:
			return err
		case systemRole(t.Role) && len(r.Turns) > 0:
			return m.wrong("role", "a system message amid the conversation has no equivalent in Gemini's API", "put it first")
		case systemRole(t.Role):
			for _, p := range t.Parts {
				system = append(system, p.Text)
			}
		case len(t.Parts) > 0:
			r.Turns = append(r.Turns, t)
		}
	}
	r.System = strings.Join(system, "\n\n")
	switch {
	case len(r.Turns) == 0:
		return o.wrong("messages", "there is no message of the user", "repair the line")
	case r.Turns[len(r.Turns)-1].Role == RoleModel:
		return o.wrong("messages", "the conversation ends with the assistant: nothing is asked", "end it with a message of the user")
	}
	r.asOne()
	return nil
}

// message is one turn; the role of the system stays as it is.
func (o lineObject) message() (t Turn, err error) {
	if err := o.read("role", &t.Role); err != nil {
		return t, err
	}
	switch {
	case t.Role == "assistant":
		t.Role = RoleModel
	case t.Role != RoleUser && !systemRole(t.Role):
		return t, o.wrong("role", fmt.Sprintf("%.40q has no equivalent that nightshift sends", t.Role), "want system, developer, user or assistant")
	}
	content := o.take("content")
	var text string
	if content == nil || json.Unmarshal(content, &text) == nil {
		if text != "" {
			t.Parts = []Part{{Text: text}}
		}
		return t, o.rest()
	}
	var parts []json.RawMessage
	if json.Unmarshal(content, &parts) != nil {
		return t, o.wrong("content", "want a text or a list of parts", "repair the line")
	}
	for i, one := range parts {
		p, err := newLineObject(fmt.Sprintf("%s.content[%d]", o.at, i), one)
		if err != nil {
			return t, err
		}
		part, err := p.part()
		switch {
		case err != nil:
			return t, err
		case part.File != nil && t.Role != RoleUser:
			return t, p.wrong("type", "only the user's messages have files", "repair the line")
		}
		t.Parts = append(t.Parts, part)
	}
	return t, o.rest()
}

// part is a text, or an image, a sound or a document whose content is in the line.
func (o lineObject) part() (p Part, err error) {
	var kind string
	if err := o.read("type", &kind); err != nil {
		return p, err
	}
	switch kind {
	case "text":
		err = o.read("text", &p.Text)
	case "image_url":
		p.File, err = o.nested("image_url", "url", "")
	case "input_audio":
		p.File, err = o.nested("input_audio", "data", "data:;base64,")
	case "file":
		p.File, err = o.nested("file", "file_data", "")
	default:
		return p, o.wrong("type", fmt.Sprintf("%.40q has no equivalent that nightshift sends", kind), "want text, image_url, input_audio or file")
	}
	if err != nil {
		return p, err
	}
	return p, o.rest()
}

// nested is a content as a data: URI, or base64 behind a prefix that makes it one.
func (o lineObject) nested(name, member, prefix string) (*Attachment, error) {
	in, err := newLineObject(o.at+"."+name, o.take(name))
	if err != nil {
		return nil, err
	}
	var uri string
	if err := in.read(member, &uri); err != nil {
		return nil, err
	}
	in.take("format") // of a sound: its content tells
	in.take("filename")
	if err := in.must("detail", `"auto"`); err != nil {
		return nil, err
	}
	if err := in.rest(); err != nil {
		return nil, err
	}
	if uri = prefix + uri; !strings.HasPrefix(strings.ToLower(uri), "data:") {
		return nil, in.wrong(member, "is no data: URI, and nightshift fetches no addresses: what is there may change between two calls", "put the content in: data:image/png;base64,…")
	}
	return dataURI(uri, in.at+"."+member)
}
