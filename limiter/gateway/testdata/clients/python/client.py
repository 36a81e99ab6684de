"""The tasks of the client matrix in the wire form of the Python SDK.

This is NOT google-genai itself, which the machines that run these tests cannot
reach. It replays, with the standard library alone, what google-genai 2.19.0
sends and how it reads the answer, after its public source (files under
google/genai in github.com/googleapis/python-genai):

- _api_client.py: the headers x-goog-api-key, user-agent and x-goog-api-client,
  those of httpx, the way the base URL and the path are joined, the body as
  json.dumps writes it (ASCII with escapes, a blank behind each comma and
  colon), and streams line by line: what does not begin with "data: " has to be
  JSON, so a comment or an event: line ends the stream with an error;
- models.py: camelCase for what the converters write; but what passes through
  as a model object (tools, schemas, parts of functions) is in snake_case, in
  the order in which types.py declares the fields;
- errors.py: ClientError and ServerError, with code, status, message and details.

CLIENT_PLAN says what to ask and where; each task prints one JSON line.
"""

import base64
import http.client
import json
import os
import ssl
import sys
from urllib.parse import urlparse

VERSION = '2.19.0'


class APIError(Exception):
    """errors.APIError: the body is kept whole as details."""

    def __init__(self, code, body):
        error = body.get('error', {}) if isinstance(body, dict) else {}
        self.code, self.details = code, body
        self.status = body.get('status', error.get('status'))
        self.message = body.get('message', error.get('message'))
        super().__init__(f'{self.code} {self.status}. {self.details}')


class ClientError(APIError):
    """A status of 400 to 499."""


class ServerError(APIError):
    """A status of 500 to 599."""


class UnknownApiResponseError(ValueError):
    """What came is no JSON."""


def raise_error(code, body):
    raise (ClientError if code < 500 else ServerError)(code, body)


def load(text):
    try:
        return json.loads(text)
    except json.JSONDecodeError as e:
        raise UnknownApiResponseError(f'Failed to parse response as JSON. Raw response: {text}') from e


def connect(base):
    if base.scheme == 'https':
        return http.client.HTTPSConnection(base.netloc, context=ssl.create_default_context(cafile=PLAN['ca']))
    return http.client.HTTPConnection(base.netloc)


class Client:
    """_api_client.BaseApiClient, as far as the wire shows it."""

    def __init__(self, base_url, api_key, version='v1beta'):
        self.base_url, self.api_key, self.version = base_url, api_key, version
        self.connection = None

    def headers(self, base, timeout):
        label = f'google-genai-sdk/{VERSION} gl-python/{sys.version.split()[0]}'
        server = {'X-Server-Timeout': str(timeout)} if timeout else {}
        return {
            'Host': base.netloc, 'Accept': '*/*', 'Accept-Encoding': 'gzip, deflate', 'Connection': 'keep-alive',
            'user-agent': label, 'Content-Type': 'application/json', 'x-goog-api-key': self.api_key, 'x-goog-api-client': label,
            **server,
        }

    def send(self, method, path, body=None, timeout=0):
        """One request; an answer that is not 200 is raised as an APIError."""
        base = urlparse(self.base_url)
        prefix = base.path[:-1] if base.path.endswith('/') else base.path
        target = f'{prefix}/{self.version}/{path}'
        self.connection = self.connection or connect(base)
        self.connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        data = json.dumps(body).encode() if body else b''
        for name, value in self.headers(base, timeout).items():
            self.connection.putheader(name, value)
        if data:
            self.connection.putheader('Content-Length', str(len(data)))
        self.connection.endheaders(data or None)
        response = self.connection.getresponse()
        if response.status != 200:
            text = response.read().decode()
            try:
                raise_error(response.status, json.loads(text))
            except json.JSONDecodeError:
                raise_error(response.status, {'message': text, 'status': response.reason})
        return response

    def request(self, method, path, body=None, timeout=0):
        return load(self.send(method, path, body, timeout).read().decode())

    def stream(self, path, body):
        """HttpResponse._iter_response_stream and request_streamed."""
        response = self.send('POST', path, body)
        try:
            for text in events(lines(response)):
                chunk = load(text)
                if json.dumps(chunk).startswith('{"error":'):
                    raise_error(chunk['error'].get('code'), chunk)
                yield chunk
        except BaseException:  # also GeneratorExit: the caller has left in mid-stream
            self.close()
            raise

    def close(self):
        """A connection with an answer half read cannot be used again."""
        self.connection.close()
        self.connection = None


def lines(response):
    """httpx.Response.iter_lines: each line as it comes, and an error when the connection breaks off."""
    rest = b''
    while piece := response.read1(65536):
        *whole, rest = (rest + piece).split(b'\n')
        yield from (line.rstrip(b'\r').decode() for line in whole)
    if rest:
        yield rest.decode()


def events(lines):
    chunk, balance, data = '', 0, []
    for line in lines:
        if not line:
            if data:
                yield '\n'.join(data)
                data = []
            continue
        if line.startswith('data: '):
            data.append(line[len('data: '):])
            continue
        balance += line.count('{') - line.count('}')
        chunk += line
        if balance == 0:
            yield chunk
            chunk = ''
    if chunk:
        yield chunk
    if data:
        yield '\n'.join(data)


PLAN = json.loads(os.environ['CLIENT_PLAN'])
PROMPTS = PLAN['prompts']
client = Client(PLAN['base'], PLAN['key'])


def emit(**line):
    print(json.dumps(line), flush=True)


def contents(text):
    return [{'parts': [{'text': text}], 'role': 'user'}]


def text_of(answer):
    parts = answer['candidates'][0].get('content', {}).get('parts', [])
    return ''.join(p['text'] for p in parts if 'text' in p and not p.get('thought'))


def tokens(answer):
    u = answer['usageMetadata']
    return {'prompt': u['promptTokenCount'], 'output': u.get('candidatesTokenCount'),
            'thoughts': u.get('thoughtsTokenCount', 0), 'total': u['totalTokenCount']}


def unary(to):
    answer = to.request('POST', f'models/{PLAN["model"]}:generateContent', {'contents': contents(PROMPTS['unary'])})
    return {'text': text_of(answer), 'finish': answer['candidates'][0]['finishReason'], **tokens(answer)}, answer


def chat():
    """A turn with an image (bytes go out in the alphabet of base64 for URLs), and what a chat usually sets."""
    image = {'data': base64.urlsafe_b64encode(base64.b64decode(PLAN['image'])).decode(), 'mimeType': 'image/png'}
    body = {
        'contents': [{'parts': [{'inlineData': image}, {'text': PROMPTS['turn']}], 'role': 'user'},
                     {'parts': [{'text': PROMPTS['said']}], 'role': 'model'}] + contents(PROMPTS['chat']),
        'systemInstruction': contents(PROMPTS['system'])[0],
        'safetySettings': [{'category': 'HARM_CATEGORY_HARASSMENT', 'threshold': 'BLOCK_NONE'}],
        'generationConfig': {'temperature': 0.2, 'topP': 0.9, 'maxOutputTokens': 300, 'stopSequences': ['THE END'],
                             'thinkingConfig': {'include_thoughts': True, 'thinking_budget': 16}},
    }
    answer = client.request('POST', f'models/{PLAN["model"]}:generateContent', body, timeout=60)
    return {'text': text_of(answer), 'finish': answer['candidates'][0]['finishReason'], **tokens(answer)}, answer


def stream(task, model):
    text, seen = '', []
    for chunk in client.stream(f'models/{model}:streamGenerateContent?alt=sse', {'contents': contents(PROMPTS[task])}):
        text += text_of(chunk)
        seen.append(chunk)
        emit(task=task, chunk=len(seen))
    last = seen[-1]
    return {'text': text, 'chunks': len(seen), 'finish': last['candidates'][0]['finishReason'], **tokens(last)}, seen


def broken(task, model):
    """A stream that does not end well."""
    text, end = '', ''
    try:
        for chunk in client.stream(f'models/{model}:streamGenerateContent?alt=sse', {'contents': contents(PROMPTS[task])}):
            text += text_of(chunk)
    except Exception as e:
        end = f'{type(e).__name__}: {e}'
    return {'text': text}, end


def abort():
    chunks = client.stream(f'models/{PLAN["long"]}:streamGenerateContent?alt=sse', {'contents': contents(PROMPTS['abort'])})
    first = text_of(next(chunks))
    chunks.close()
    return {'first': first, 'aborted': client.connection is None}, None


def embed(texts):
    requests = [{'content': {'parts': [{'text': t}], 'role': 'user'}, 'taskType': 'RETRIEVAL_DOCUMENT',
                 'outputDimensionality': 8, 'model': f'models/{PLAN["embedding"]}'} for t in texts]
    answer = client.request('POST', f'models/{PLAN["embedding"]}:batchEmbedContents', {'requests': requests})
    return {'vectors': [e['values'] for e in answer['embeddings']]}, answer


def count():
    answer = client.request('POST', f'models/{PLAN["model"]}:countTokens', {'contents': contents(PROMPTS['count'])})
    return {'total': answer['totalTokens']}, answer


def list_models():
    answer = client.request('GET', 'models')
    return {'models': [m['name'] for m in answer['models']]}, answer


def get():
    answer = client.request('GET', f'models/{PLAN["model"]}')
    return {'name': answer['name'], 'input': answer['inputTokenLimit'], 'output': answer['outputTokenLimit']}, answer


# The fields of types.Schema in their order; those that are not here are not used.
SCHEMA_FIELDS = ('enum', 'items', 'maxItems', 'maximum', 'minItems', 'minimum', 'properties', 'propertyOrdering', 'required', 'type')
SNAKE = {'maxItems': 'max_items', 'minItems': 'min_items', 'propertyOrdering': 'property_ordering'}


def typed(schema, ordered):
    """A types.Schema dumped: its own order, snake_case, types in capitals; process_schema adds property_ordering."""
    schema = dict(schema, type=schema['type'].upper())
    if 'properties' in schema:
        schema['properties'] = {k: typed(v, ordered) for k, v in schema['properties'].items()}
        if ordered:
            schema['propertyOrdering'] = list(schema['properties'])
    if 'items' in schema:
        schema['items'] = typed(schema['items'], ordered)
    return {SNAKE.get(f, f): schema[f] for f in SCHEMA_FIELDS if f in schema}


def call():
    f = PLAN['function']
    tools = [{'functionDeclarations': [{'description': f['description'], 'name': f['name'], 'parameters': typed(f['parameters'], False)}]}]
    body = {'contents': contents(PROMPTS['call']), 'tools': tools, 'generationConfig': {}}
    path = f'models/{PLAN["model"]}:generateContent'
    answer = client.request('POST', path, body)
    candidate = answer['candidates'][0]
    made = next(p['functionCall'] for p in candidate['content']['parts'] if 'functionCall' in p)
    result = {'parts': [{'functionResponse': {'name': made['name'], 'response': {'ok': True}}}], 'role': 'user'}
    body['contents'] = body['contents'] + [candidate['content'], result]
    then = client.request('POST', path, body)
    return {'name': made['name'], 'args': made['args'], 'finish': candidate['finishReason'], 'then': text_of(then)}, [answer, then]


def schema():
    config = {'responseMimeType': 'application/json', 'responseSchema': typed(PLAN['schema'], True)}
    answer = client.request('POST', f'models/{PLAN["model"]}:generateContent',
                            {'contents': contents(PROMPTS['schema']), 'generationConfig': config})
    return {'value': json.loads(text_of(answer))}, answer


def refused(ask):
    try:
        ask()
    except APIError as e:
        error = e.details.get('error', {})
        hints = [d['retryDelay'] for d in error.get('details', []) if d.get('@type', '').endswith('RetryInfo')]
        hint = hints[0] if hints else None
        words = {'type': type(e).__name__, 'code': e.code, 'status': e.status, 'hint': hint, 'message': e.message}
        return {'code': e.code, **({'hint': hint} if hint else {})}, {'type': type(e).__name__, 'details': e.details}, words
    return {'error': 'it was not refused'}, None


def ask(model, task, times=1):
    for _ in range(times):
        client.request('POST', f'models/{model}:generateContent', {'contents': contents(PROMPTS[task])})


TASKS = {
    'unary': lambda: unary(client),
    'slash': lambda: unary(Client(PLAN['base'] + '/', PLAN['key'])),
    'v1': lambda: unary(Client(PLAN['base'], PLAN['key'], 'v1')),
    'chat': chat,
    'stream': lambda: stream('stream', PLAN['model']),
    'slow': lambda: stream('slow', PLAN['model']),
    'flush': lambda: stream('flush', PLAN['stepped']),
    'midway': lambda: broken('midway', PLAN['midway']),
    'cut': lambda: broken('cut', PLAN['cut']),
    'abort': abort,
    'embed': lambda: embed([PROMPTS['embed']]),
    'embeds': lambda: embed([PROMPTS['embed'], PROMPTS['unary']]),
    'count': count, 'list': list_models, 'get': get, 'call': call, 'schema': schema,
    'refused': lambda: refused(lambda: ask(PLAN['refused'], 'refused')),
    'broken': lambda: refused(lambda: ask(PLAN['broken'], 'broken')),
    'quota': lambda: refused(lambda: ask(PLAN['limited'], 'quota', 2)),
    'quotastream': lambda: refused(lambda: stream('quotastream', PLAN['limited'])),
    'badkey': lambda: refused(lambda: unary(Client(PLAN['base'], PLAN['badkey']))),
    'doubled': lambda: refused(lambda: unary(Client(PLAN['base'] + '/v1beta', PLAN['key']))),
    'unserved': lambda: refused(lambda: client.request('GET', 'files')),
}

for name in (t for t in PLAN['tasks'] if t in TASKS):
    try:
        result = TASKS[name]()
        emit(task=name, sum=result[0], seen=result[1], words=result[2] if len(result) > 2 else None)
        if name == 'abort':
            sys.stdin.readline()  # the test looks at what the abort did before this process goes on
    except Exception as e:  # whatever it is, the line says it
        emit(task=name, sum={'error': f'{type(e).__name__}: {e}'})
