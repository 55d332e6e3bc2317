import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { credentialsOf, readCredential, withCredentials } from './credential.ts'
import { LinkError } from './link-error.ts'

const given = (schemaUri: string, text: string) => readCredential({ schemaUri, text })

test('readCredential parses credentials, and prints them as asterisks', () => {
  const usual = given('urn:a', '{"username":"user","password":"hunter2","realm":"plant"}')
  assert.deepEqual([usual.username, usual.password, usual.fields.realm], ['user', 'hunter2', 'plant'])
  assert.doesNotMatch(JSON.stringify({ usual }) + inspect({ usual }), /hunter2/)
  const free = given('', 'community')
  assert.deepEqual([free.text, free.fields, free.username], ['community', {}, undefined])
})

test('credentialsOf returns only the credentials of the requested schema', () => {
  const credentials = [given('urn:a', '1'), given('urn:b', '2'), given('', '3')]
  assert.deepEqual(
    credentialsOf({ credentials }, 'urn:a').map(({ text }) => text),
    ['1', '3'],
  )
})

test('withCredentials tries credentials in order until one is accepted', async () => {
  const tried: (string | undefined)[] = []
  const ask = (right: string | undefined) => (credential: { text: string } | undefined) => {
    tried.push(credential?.text)
    if (credential?.text === right) return 'open'
    throw new LinkError('UNAUTHENTICATED', 'no')
  }
  const all = ['1', '2', '3'].map((text) => given('', text))
  assert.equal(await withCredentials(all, ask('2')), 'open')
  assert.deepEqual(tried, ['1', '2'])
  assert.equal(await withCredentials([], ask(undefined)), 'open')
  await assert.rejects(withCredentials(all, ask('4')), { code: 'UNAUTHENTICATED' })
  const broken = () => {
    throw new LinkError('UNAVAILABLE', 'gone')
  }
  await assert.rejects(withCredentials(all, broken), { code: 'UNAVAILABLE' })
})
