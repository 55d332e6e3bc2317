import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import fastify from 'fastify'
import { problemOf, send } from './problems.ts'

test('a browser gets a page with the same status and code if the platform is not available', async () => {
  const app = fastify()
  app.setErrorHandler((error, request, reply) => send(reply, problemOf(error), request))
  app.get('/down', () => {
    throw new Problem('unavailable', 'The database <main> is not reachable', { retryAfter: 2 })
  })
  app.get('/missing', () => {
    throw new Problem('not_found', 'This path does not exist')
  })
  const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'
  const open = (url: string, headers: Record<string, string>) => app.inject({ url, headers })
  const page = await open('/down', { accept })
  assert.deepEqual([page.statusCode, page.headers['retry-after']], [503, '2'])
  assert.match(String(page.headers['content-type']), /^text\/html/)
  assert.match(page.body, /<h1>Millwright is not available<\/h1>/)
  assert.match(page.body, /The database &lt;main&gt; is not reachable/)
  assert.match(page.body, /<code>unavailable<\/code>/)
  const german = await open('/down', { accept, 'accept-language': 'de-DE,de;q=0.9,en;q=0.8' })
  assert.match(german.body, /<html lang="de">/)
  const client = await open('/down', { accept: 'application/json' })
  assert.deepEqual([client.statusCode, client.json().code], [503, 'unavailable'])
  assert.equal((await open('/missing', { accept })).json().code, 'not_found')
  await app.close()
})
