package dashboard

import "context"

// Role is what somebody may do here.
type Role string

// The roles.
const (
	RoleView    Role = "view"
	RoleOperate Role = "operate" // all that RoleView may, and actions
	// RoleTenant may look at one tenant's own page, and finds nothing else.
	RoleTenant Role = "tenant"
)

// may says whether the role covers what is needed; "" is needed for nothing.
func (r Role) may(need Role) bool {
	return r == need || r == RoleOperate || need == "" && r != RoleTenant
}

// Viewer is who asks.
type Viewer struct {
	Name string // of basic auth or the login form; "" is somebody without one
	Role Role
	From string // the address that the request came from
	// Token says what it was let in by: "operate token", "view token", "tenant acme by
	// token v_965d"; "" is none, as where no token is asked.
	Token string
	// Tenant is the only one that it may see; "" is all.
	Tenant string
}

// By names the viewer for the record of what was done: "ana (dashboard)". Somebody
// without a name is called by the token, or "dashboard" without one. ("asynqmon" is taken: the scheduler
// calls so who wrote asynq's own pause key.)
func (v Viewer) By() string {
	switch {
	case v.Token != "" && (v.Name == "" || v.Tenant != ""): // a tenant's name for itself is no more than a claim
		return v.Token + " (" + byDashboard + ")"
	case v.Name == "":
		return byDashboard
	}
	return v.Name + " (" + byDashboard + ")"
}

const byDashboard = "dashboard"

// personName is what a name may be: one line that is not long.
func personName(s string) string { return cut(oneLine(printable(s)), 60) }

type viewerKey struct{}

func withViewer(ctx context.Context, v Viewer) context.Context {
	return context.WithValue(ctx, viewerKey{}, v)
}

// ViewerOf is who asks a handler behind the login, such as Config.API.
func ViewerOf(ctx context.Context) Viewer { return viewerOf(ctx) }

// viewerOf is who asks; behind the guard there always is somebody.
func viewerOf(ctx context.Context) Viewer {
	v, _ := ctx.Value(viewerKey{}).(Viewer)
	return v
}
