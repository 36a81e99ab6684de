import json, os, urllib.error, urllib.request

GATE, GEMINI = os.environ["GATE_URL"], os.environ.get("GEMINI_URL", "https://generativelanguage.googleapis.com")


def post(url, key, body):
    headers = {"content-type": "application/json", "x-goog-api-key": key}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as r:
            return r.status, json.load(r)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


def generate(model, request):
    ask = {"model": model, "request": request, "wait_ms": 30_000}
    status, permit = post(f"{GATE}/v1/permits", os.environ["GATE_KEY"], ask)
    if status != 200:  # no room within wait_ms: error.details has RetryInfo, as Gemini's own 429 has
        raise RuntimeError(permit["error"]["message"])
    what, told = "settle", {"status": 0}  # sent, and no answer: it may have been counted
    try:
        status, answer = post(f"{GEMINI}/v1beta/models/{permit['model']}:generateContent", os.environ["GEMINI_API_KEY"], request)
        told = {"status": status, "error": answer} if status >= 300 else {"usageMetadata": answer.get("usageMetadata")}
        return answer
    except urllib.error.URLError:  # never sent: all is given back
        what, told = "release", {}
        raise
    finally:
        post(f"{GATE}/v1/permits/{permit['id']}/{what}", os.environ["GATE_KEY"], told)
