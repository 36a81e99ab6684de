package gateway

// redisKeys is a Redis hash of all keys: a key's hash → its Identity as JSON,
// and with revokedField behind it → when it was revoked, RFC 3339. A revocation
// is a field of its own, so that adding and revoking never write over each other;
// one hash is read by one command.
const (
	redisKeys    = "nightshift:gateway:keys"
	revokedField = ":revoked"
)
