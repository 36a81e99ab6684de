package tenants

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestTenants: a tenant is made, read, changed as it was read and not otherwise, and
// forgotten; what holds is enforced by the limiter, and all of it is recorded.
func TestTenants(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		r.T = t
		r.wants(200, "GET", "/tenants", "", `"tenants":[]`, `"next":null`)
		r.wants(404, "GET", "/tenants/acme", "")
		const body = `{"note":"the <b>shop</b>","weight":3,"limits":{"rpm":300,"burst":20,"micro_usd_per_day":25000000}}`
		made := r.wants(201, "PUT", "/tenants/acme", body, `"weight":3`, `{"name":"rpm","amount":300,"from":"set","used":0}`, `"changed_by":"ana"`)
		if c, err := r.book.Limiter.Effective(t.Context()); err != nil || c.Nodes["tenant/acme"].RPM != 300 || c.Nodes["tenant/acme"].Concurrency != 20 ||
			c.Nodes["tenant/acme"].USDPerDay != 25_000_000 || c.Weights["tenant/acme"] != 3 {
			t.Errorf("%+v, %v, %v", c.Nodes, c.Weights, err)
		}
		if again := r.wants(200, "PUT", "/tenants/acme", body); again.tag() != made.tag() || made.tag() == "" {
			t.Errorf("tags %q and %q of the same", made.tag(), again.tag())
		}
		r.is(r.ask("GET", "/tenants/acme", "", "If-None-Match", made.tag()), 304)
		// What was read can be sent back, changed; what somebody else changed meanwhile cannot.
		var doc map[string]any
		r.must(json.Unmarshal(r.wants(200, "GET", "/tenants/acme", "").Body.Bytes(), &doc))
		doc["limits"] = map[string]any{"rpm": nil, "burst": 5}
		text, _ := json.Marshal(doc)
		r.wants(428, "PUT", "/tenants/acme", string(text), "If-Match")
		r.is(r.ask("PUT", "/tenants/acme", string(text), "If-Match", made.tag()), 200, `"limits":{"burst":5,"rpm":null}`, `"weight":3`)
		r.is(r.ask("PUT", "/tenants/acme", `{"note":"x"}`, "If-Match", made.tag()), 412, "Somebody has changed it")
		r.is(r.ask("PUT", "/tenants/acme", `{"note":"x"}`, "If-None-Match", "*"), 412)
		r.is(r.ask("PUT", "/tenants/beta", `{"note":"x"}`, "If-Match", "*"), 412)
		if c, err := r.book.Limiter.Effective(t.Context()); err != nil || c.Nodes["tenant/acme"].USDPerDay != 0 || c.Nodes["tenant/acme"].Concurrency != 5 || c.Value("tenant/acme", "rpm").Value != 0 {
			t.Errorf("%+v, %v", c.Nodes["tenant/acme"], err)
		}
		r.is(r.ask("DELETE", "/tenants/acme", "", "If-Match", made.tag()), 412)
		r.is(r.ask("DELETE", "/tenants/acme", "", "If-Match", "*"), 204)
		r.wants(404, "GET", "/tenants/acme", "")
		if c, err := r.book.Limiter.Effective(t.Context()); err != nil || c.Value("tenant/acme", "rpm").Value != 100 || c.Weights["tenant/acme"] > 1 {
			t.Errorf("%+v, %v: what is configured does not hold again", c.Nodes, err)
		}
		var acts []string
		for _, a := range r.acts {
			acts = append(acts, fmt.Sprintf("%s %s %s→%s %t", a.What, a.Target, a.Before, a.After, a.Err != nil))
		}
		const want = `tenant-put tenant/acme →rpm 300, burst 20, micro_usd_per_day 25000000, weight 3, "the <b>shop</b>" false`
		if len(acts) != 9 || acts[0] != want || !strings.HasSuffix(acts[2], " true") {
			t.Errorf("recorded\n%s", strings.Join(acts, "\n"))
		}
	})
}

// TestTwoAtOnce: of many who change the same state at the same moment, one does.
func TestTwoAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		r.T = t
		tag := strings.Trim(r.wants(201, "PUT", "/tenants/acme", `{}`).tag(), `"`)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var done []int64
		for i := range int64(8) {
			wg.Go(func() {
				d := Draft{Terms: Terms{Limits: Limits{"rpm": new(10 + i)}}}
				if i%2 == 0 {
					d = Draft{Note: fmt.Sprint(10 + i)}
				}
				_, _, err := r.book.Put(t.Context(), "ana", Ref{Tenant: "acme"}, d, Condition{Tags: []string{tag}})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					done = append(done, 10+i)
				}
			})
		}
		wg.Wait()
		a, err := r.book.Show(t.Context(), Ref{Tenant: "acme"})
		if err != nil || len(done) != 1 {
			t.Fatalf("%v were done, %v", done, err)
		}
		if rpm := a.Limits["rpm"]; rpm != nil && *rpm != done[0] || rpm == nil && a.Note != fmt.Sprint(done[0]) {
			t.Errorf("%+v is not what %d made it", a, done[0])
		}
	})
}

// TestTeamsAndKeys: teams are one tenant's by their name, a key's secret is shown once, its
// limits are its own, another tenant's key is not there, and what has keys is not forgotten.
func TestTeamsAndKeys(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		r.T = t
		r.wants(409, "PUT", "/tenants/acme/teams/web", `{}`, "make it first")
		r.wants(201, "PUT", "/tenants/acme", `{}`)
		r.wants(201, "PUT", "/tenants/beta", `{}`)
		r.wants(201, "PUT", "/tenants/acme/teams/web", `{"limits":{"burst":4}}`, `"tenant":"acme"`)
		r.wants(409, "PUT", "/tenants/beta/teams/web", `{}`, "another tenant")
		r.wants(404, "GET", "/tenants/beta/teams/web", "")
		r.wants(200, "GET", "/tenants/acme/teams", "", `"name":"web"`, `"burst":4`)
		got := r.wants(201, "POST", "/tenants/acme/keys", `{"name":"site","team":"web","feature":"chat","expires":"2999-01-31T00:00:00Z","limits":{"rpm":60}}`, `"secret":"nsk_`, `"class":"interactive"`, `"state":"active"`)
		secret, key := got.json["secret"].(string), got.json["key"].(map[string]any)
		id := key["id"].(string)
		who, err := r.book.Keys.Lookup(t.Context(), secret)
		if err != nil || who.Path.Tenant != "acme" || who.Path.Team != "web" || who.ID != id {
			t.Errorf("%+v, %v", who, err)
		}
		if c, err := r.book.Limiter.Effective(t.Context()); err != nil || c.Nodes["key/"+id].RPM != 60 {
			t.Errorf("%+v, %v", c.Nodes, err)
		}
		r.wants(404, "GET", "/tenants/beta/keys/"+id, "")
		r.wants(404, "POST", "/tenants/beta/keys/"+id+"/revoke", "")
		one := r.wants(200, "GET", "/tenants/acme/keys/"+id, "")
		r.wants(428, "PUT", "/tenants/acme/keys/"+id, `{"limits":{"rpm":6}}`)
		r.is(r.ask("PUT", "/tenants/acme/keys/"+id, `{"limits":{"rpm":6}}`, "If-Match", one.tag()), 200, `"limits":{"rpm":6}`)
		r.is(r.ask("PUT", "/tenants/acme/keys/"+id, `{"limits":{"rpm":7}}`, "If-Match", one.tag()), 412)
		other := r.wants(200, "POST", "/tenants/acme/keys/"+id+"/rotate", `{"grace_seconds":0}`, `"secret":"nsk_`).json["secret"].(string)
		if _, err := r.book.Keys.Lookup(t.Context(), other); err != nil {
			t.Error(err)
		}
		if list := r.wants(200, "GET", "/tenants/acme/keys", "", id).Body.String(); strings.Contains(list, secret) || strings.Contains(list, other) || strings.Contains(list, "nsk_") {
			t.Error("the list has a secret in it")
		}
		for _, a := range r.acts {
			if s := fmt.Sprint(a); strings.Contains(s, "nsk_") {
				t.Errorf("a secret is in the record: %s", s)
			}
		}
		r.is(r.ask("DELETE", "/tenants/acme/teams/web", "", "If-Match", "*"), 409, "It has keys", "Revoke them first")
		for range 2 {
			r.wants(200, "POST", "/tenants/acme/keys/"+id+"/revoke", "", `"state":"revoked"`, `"limits":{}`)
		}
		r.wants(409, "POST", "/tenants/acme/keys/"+id+"/rotate", `{}`, "stays so")
		r.is(r.ask("DELETE", "/tenants/acme", "", "If-Match", "*"), 409, "It has teams")
		r.is(r.ask("DELETE", "/tenants/acme/teams/web", "", "If-Match", "*"), 204)
		r.is(r.ask("DELETE", "/tenants/acme", "", "If-Match", "*"), 204)
	})
}

// TestStop: an emergency stop takes the place of what was set, also of what is set
// meanwhile, and gives it back.
func TestStop(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		r.T = t
		rpm := func(want int64) {
			t.Helper()
			c, err := r.book.Limiter.Effective(t.Context())
			if got := c.Value("tenant/acme", "rpm").Value; err != nil || got != want {
				t.Errorf("rpm %d, want %d, %v", got, want, err)
			}
		}
		r.wants(201, "PUT", "/tenants/acme", `{"limits":{"rpm":300}}`)
		for range 2 {
			r.must(r.book.Stop(t.Context(), "ana", "tenant/acme", "a leak"))
		}
		rpm(1)
		a := r.wants(200, "GET", "/tenants/acme", "", `"limits":{"rpm":300}`, `"stopped":{"at":`, `"reason":"a leak"`, `"amount":1,"from":"set"`)
		r.wants(200, "GET", "/tenants", "", `"stopped":true`)
		r.is(r.ask("PUT", "/tenants/acme", `{"limits":{"rpm":200}}`, "If-Match", a.tag()), 200, `"limits":{"rpm":200}`)
		rpm(1)
		r.must(r.book.Lift(t.Context(), "ana", "tenant/acme"))
		rpm(200)
		if err := r.book.Lift(t.Context(), "ana", "tenant/acme"); err == nil {
			t.Error("what is not stopped is lifted")
		}
		r.must(r.book.Stop(t.Context(), "ana", "tenant/acme", ""))
		r.must(r.book.Limiter.Unset(t.Context(), "tenant/acme", "rpm")) // by quota unset
		r.wants(200, "GET", "/tenants/acme", "", `"stopped":null`, `"limits":{}`)
	})
}

// TestWrongFields: what cannot be is named by its field, and nothing is changed.
func TestWrongFields(t *testing.T) {
	t.Parallel()
	r := newRig(t, embedded(t))
	long := strings.Repeat("x", 10_000)
	for _, c := range []struct{ path, body, field, says string }{
		{"/tenants/acme", `{"limits":{"rpm":0}}`, "limits.rpm", "want 1 to"},
		{"/tenants/acme", `{"limits":{"rpm":-5}}`, "limits.rpm", "want 1 to"},
		{"/tenants/acme", `{"limits":{"rpm":"many"}}`, "limits.rpm", "want a whole number"},
		{"/tenants/acme", `{"limits":{"rpm":1.5}}`, "limits.rpm", "want a whole number"},
		{"/tenants/acme", `{"limits":{"` + long + `":1}}`, "limits.xxx", "want rpm, input_tpm"},
		{"/tenants/acme", `{"limits":[]}`, "limits", "want an object"},
		{"/tenants/acme", `{"weight":1001}`, "weight", "want 1 to 1000"},
		{"/tenants/acme", `{"wieght":1}`, "wieght", "no such field"},
		{"/tenants/acme", `{"note":"` + long + `"}`, "note", "500"},
		{"/tenants/acme", `{"note":"\u0000"}`, "note", "printable"},
		{"/tenants/acme", `[]`, "body", "object"},
		{"/tenants/acme", `null`, "body", "object"},
		{"/tenants/acme", `{`, "body", "unexpected end"},
		{"/tenants/acme", `{"note":"` + strings.Repeat("x", 70_000) + `"}`, "body", "larger than 65536"},
		{"/tenants/%3Cscript%3Ealert(1)%3C%2Fscript%3E", `{}`, "tenant", "want 1 to 64 letters"},
		{"/tenants/" + long, `{}`, "tenant", "want 1 to 64 letters"},
		{"/tenants/*", `{}`, "tenant", "want 1 to 64 letters"},
	} {
		a := r.ask("PUT", c.path, c.body)
		var p problem
		r.must(json.Unmarshal(a.Body.Bytes(), &p))
		if a.Code != 422 || len(p.Errors) != 1 || !strings.HasPrefix(p.Errors[0].Field, c.field) || !strings.Contains(p.Errors[0].Detail, c.says) || len(a.Body.String()) > 1500 {
			t.Errorf("%.60s: %d %.300s, want %s: %s", c.body, a.Code, a.Body, c.field, c.says)
		}
	}
	if list := r.wants(200, "GET", "/tenants", ""); !strings.Contains(list.Body.String(), `"tenants":[]`) {
		t.Errorf("something was made: %s", list.Body)
	}
	r.wants(201, "PUT", "/tenants/acme", `{}`)
	for path, field := range map[string]string{
		"/tenants?limit=0": "limit", "/tenants?limit=1x": "limit", "/tenants?colour=red": "colour", "/tenants/acme/usage?step=week": "step", "/tenants/acme/usage?by=colour": "by",
		"/tenants/acme/usage?from=yesterday": "from", "/tenants/acme/usage?from=2020-01-01": "from", "/tenants/acme/usage?to=2020-01-01": "from", "/tenants/acme/usage?format=xml": "format",
	} {
		r.wants(422, "GET", path, "", `"field":"`+field+`"`)
	}
	for body, field := range map[string]string{
		`{}`: "name", `{"name":"x","class":"first"}`: "class", `{"name":"x","expires":"2020-01-01T00:00:00Z"}`: "expires", `{"name":"x","expires":"soon"}`: "expires", `{"name":"x","limits":{"rpm":0}}`: "limits.rpm",
		`{"name":"x","feature":"Ä"}`: "feature", `{"name":"x","team":"a b"}`: "team",
	} {
		r.wants(422, "POST", "/tenants/acme/keys", body, `"field":"`+field+`"`)
	}
	r.wants(422, "POST", "/tenants/acme/tokens", `{"name":" "}`, `"field":"name"`)
	r.wants(404, "GET", "/tenants/acme/nothing", "")
	if a := r.wants(405, "PATCH", "/tenants/acme", `{}`, "GET, PUT, DELETE"); a.Header().Get("Allow") != "GET, PUT, DELETE" {
		t.Errorf("Allow: %s", a.Header().Get("Allow"))
	}
}

// TestOthersAreNotThere: a tenant's token finds its own and nothing else; what others have
// is answered, to the byte, like what nobody has.
func TestOthersAreNotThere(t *testing.T) {
	t.Parallel()
	r := newRig(t, embedded(t))
	r.wants(201, "PUT", "/tenants/acme", `{"note":"pays late"}`)
	r.wants(201, "PUT", "/tenants/beta", `{"note":"secret"}`)
	r.wants(201, "PUT", "/tenants/beta/teams/web", `{}`)
	id := r.wants(201, "POST", "/tenants/beta/keys", `{"name":"k"}`).json["key"].(map[string]any)["id"].(string)
	text, token, err := r.book.AddToken(t.Context(), "ana", "acme", "for ada", r.book.now().Add(1e12))
	r.must(err)
	if got, err := r.book.TokenOf(t.Context(), TokenDigest(text)); err != nil || got.Tenant != "acme" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := r.book.TokenOf(t.Context(), TokenDigest(text+"x")); !errors.Is(err, ErrNotThere) {
		t.Errorf("a wrong token: %v", err)
	}
	r.caller = Caller{By: "acme", Tenant: "acme"}
	if s := r.wants(200, "GET", "/tenants", "", `"name":"acme"`, `"found":1`).Body.String(); strings.Contains(s, "beta") || strings.Contains(s, "pays late") {
		t.Errorf("it sees %s", s)
	}
	if s := r.wants(200, "GET", "/tenants/acme", "").Body.String(); strings.Contains(s, "pays late") || strings.Contains(s, "ana") {
		t.Errorf("it sees %s", s)
	}
	r.wants(200, "GET", "/tenants/acme/usage", "", `"tenant":"acme"`)
	r.wants(200, "GET", "/tenants/acme/keys", "")
	r.wants(403, "PUT", "/tenants/acme", `{}`, "may only look")
	r.wants(404, "GET", "/tenants/acme/tokens", "")
	for _, x := range [][2]string{{"GET", ""}, {"PUT", ""}, {"DELETE", ""}, {"GET", "/teams"}, {"GET", "/teams/web"}, {"GET", "/keys"}, {"POST", "/keys"}, {"GET", "/keys/" + id}, {"POST", "/keys/" + id + "/revoke"}, {"GET", "/usage"}, {"GET", "/tokens"}, {"POST", "/tokens"}} {
		beta, none := r.ask(x[0], "/tenants/beta"+x[1], ""), r.ask(x[0], "/tenants/none"+x[1], "")
		if beta.Code != http.StatusNotFound || beta.Body.String() != none.Body.String() || fmt.Sprint(beta.Header()) != fmt.Sprint(none.Header()) {
			t.Errorf("%s %s: %d %s, of nobody %d %s", x[0], x[1], beta.Code, beta.Body, none.Code, none.Body)
		}
	}
	r.caller = Caller{By: "eve"} // an operators' view token
	r.wants(200, "GET", "/tenants/beta", "", "secret")
	r.wants(403, "DELETE", "/tenants/beta", "")
	if a := r.acts[len(r.acts)-1]; !a.Refused || a.What != "tenant-delete" {
		t.Errorf("a refusal is recorded as %+v", a)
	}
	r.caller = Caller{By: "ana", Operate: true}
	r.wants(200, "GET", "/tenants/acme/tokens", "", token.ID, "for ada")
	r.wants(404, "DELETE", "/tenants/beta/tokens/"+token.ID, "")
	r.is(r.ask("DELETE", "/tenants/acme/tokens/"+token.ID, ""), 204)
	if _, err := r.book.TokenOf(t.Context(), TokenDigest(text)); !errors.Is(err, ErrNotThere) {
		t.Errorf("an ended token: %v", err)
	}
}

// TestAllFaultsAtOnce: whoever sends a body with several faults is told of each, by where
// it stands; what stands in the query or a header has no pointer into the body.
func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, embedded(t))
	r.wants(201, "PUT", "/tenants/acme", `{}`)
	faults := func(got answer, status int) (out []string) {
		t.Helper()
		r.is(got, status)
		for _, e := range got.json["errors"].([]any) {
			x := e.(map[string]any)
			for _, in := range []string{"pointer", "parameter", "header"} {
				if name, ok := x[in]; ok {
					out = append(out, fmt.Sprint(in, " ", name))
				}
			}
		}
		return out
	}
	for _, c := range []struct{ method, path, body, header, want string }{
		{"PUT", "/tenants/acme", `{"note":7,"weight":5000,"colour":1,"limits":{"rpm":"many","tpm":4,"rpd":-1}}`, "",
			"[pointer #/colour pointer #/limits/rpm pointer #/note pointer #/limits/rpd pointer #/limits/tpm pointer #/weight]"},
		{"POST", "/tenants/acme/keys", `{"name":"","class":"vip","limits":{"rpm":0}}`, "", "[pointer #/limits/rpm pointer #/name pointer #/class]"},
		{"POST", "/tenants/acme/tokens", `{"name":"","expires":"2001-01-01T00:00:00Z"}`, "", "[pointer #/name pointer #/expires]"},
		{"GET", "/tenants?limit=0", "", "", "[parameter limit]"},
		{"GET", "/tenants?colour=red&size=2", "", "", "[parameter colour parameter size]"},
		{"GET", "/tenants/acme/usage?from=x&to=y&by=colour", "", "", "[parameter from parameter to parameter by]"},
		{"GET", "/tenants/acme/usage?format=xml", "", "", "[parameter format]"},
		{"PUT", "/tenants/acme", `{}`, "If-None-Match", "[header If-None-Match]"},
		{"POST", "/tenants/acme/keys", `{"name":"k"}`, "Idempotency-Key", "[header Idempotency-Key]"},
	} {
		var header []string
		if c.header != "" {
			header = []string{c.header, ""}
		}
		if got := fmt.Sprint(faults(r.ask(c.method, c.path, c.body, header...), 422)); got != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.method, c.path, c.body, got, c.want)
		}
	}
}

// TestStopAndLift: a tenant, team or key is stopped and goes on as before, by the deeds
// of whoever runs the API; what there is not is not.
func TestStopAndLift(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		r.T = t
		r.wants(201, "PUT", "/tenants/acme", `{"limits":{"rpm":300}}`)
		r.wants(201, "PUT", "/tenants/acme/teams/web", `{}`)
		id := r.wants(201, "POST", "/tenants/acme/keys", `{"name":"k"}`).json["key"].(map[string]any)["id"].(string)
		for _, at := range []string{"/tenants/acme", "/tenants/acme/teams/web", "/tenants/acme/keys/" + id} {
			r.acts = nil
			r.wants(409, "POST", at+"/lift", "", "is not stopped")
			r.wants(200, "POST", at+"/stop", `{"reason":"a loop"}`, `"name":"rpm","amount":1,`, `"reason":"a loop"`)
			r.wants(200, "POST", at+"/stop", "", `"reason":"a loop"`)
			r.wants(200, "POST", at+"/lift", "", `"stopped":null`)
			if len(r.acts) != 4 || r.acts[0].Err == nil || r.acts[1].What != "stop" || r.acts[3].What != "lift" {
				t.Errorf("%s: recorded %+v", at, r.acts)
			}
		}
		r.wants(200, "GET", "/tenants/acme", "", `"rpm":300`)
		r.wants(422, "POST", "/tenants/acme/stop", `{"because":"x"}`, "#/because")
		for _, at := range []string{"/tenants/none", "/tenants/acme/teams/none", "/tenants/acme/keys/none"} {
			r.wants(404, "POST", at+"/stop", "")
		}
		r.caller = Caller{By: "acme", Tenant: "acme"}
		r.wants(403, "POST", "/tenants/acme/lift", "")
	})
}

// TestOnce: a request that is sent again under its name makes nothing twice, and its
// secret is not told again, nor kept.
func TestOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		r.T = t
		r.wants(201, "PUT", "/tenants/acme", `{}`)
		const path, body = "/tenants/acme/keys", `{"name":"k"}`
		first := r.ask("POST", path, body, "Idempotency-Key", "7f1c")
		r.is(first, 201)
		id := first.json["key"].(map[string]any)["id"].(string)
		again := r.ask("POST", path, body, "Idempotency-Key", "7f1c")
		if r.is(again, 409, "This was done at", id); again.Header().Get("Location") != first.Header().Get("Location") {
			t.Errorf("it is at %q", again.Header().Get("Location"))
		}
		r.is(r.ask("POST", path, `{"name":"other"}`, "Idempotency-Key", "7f1c"), 422, `"header":"Idempotency-Key"`)
		r.is(r.ask("POST", path, `{"name":""}`, "Idempotency-Key", "8a2d"), 422, "#/name")
		r.is(r.ask("POST", path, `{"name":"mended"}`, "Idempotency-Key", "8a2d"), 201)
		r.is(r.ask("POST", path+"/"+id+"/rotate", "", "Idempotency-Key", "9b3e"), 200)
		r.is(r.ask("POST", path+"/"+id+"/rotate", "", "Idempotency-Key", "9b3e"), 409)
		token := r.ask("POST", "/tenants/acme/tokens", `{"name":"ada"}`, "Idempotency-Key", "0c4f")
		r.is(token, 201)
		r.is(r.ask("POST", "/tenants/acme/tokens", `{"name":"ada"}`, "Idempotency-Key", "0c4f"), 409)
		if keys, err := r.book.ListKeys(t.Context(), "acme"); err != nil || len(keys) != 2 {
			t.Errorf("%d keys, %v", len(keys), err)
		}
		for _, key := range r.book.Redis.Keys(t.Context(), r.book.recordsKey()+":once:*").Val() {
			text := r.book.Redis.Get(t.Context(), key).Val()
			if strings.Contains(text, "nsk_") || strings.Contains(text, "nsv_") || r.book.Redis.TTL(t.Context(), key).Val() <= 0 {
				t.Errorf("%s is kept as %s", key, text)
			}
		}
	})
}

// TestDocument is an OpenAPI document, and has each route and no other.
func TestDocument(t *testing.T) {
	t.Parallel()
	n := 0
	for path, item := range described().doc["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			if method != "parameters" {
				n++
			}
		}
		if !strings.HasPrefix(path, Prefix) {
			t.Errorf("%s is not ours", path)
		}
	}
	for _, x := range routes {
		if op := described().operation(x.method, strings.TrimSuffix(Prefix, "/")+x.path); op == "" {
			t.Errorf("%s %s is not described", x.method, x.path)
		} else if _, there := described().at(op); there == nil {
			t.Errorf("%s %s is not described", x.method, x.path)
		}
	}
	if n != len(routes) {
		t.Errorf("%d operations are described of %d", n, len(routes))
	}
	schema := filepath.Join("..", "..", "..", "limiter", "gateway", "testdata", "clients", "node", "node_modules", "@seriousme", "openapi-schema-validator", "schemas", "v3.1", "schema.json")
	text, err := os.ReadFile(schema)
	if os.IsNotExist(err) && os.Getenv("CI") != "true" {
		t.Skip("the schema of OpenAPI 3.1 is not installed")
	}
	if err != nil {
		t.Fatal(err)
	}
	own, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("test:///oas31.json", own); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("test:///oas31.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(described().doc); err != nil {
		t.Error(err)
	}
}
