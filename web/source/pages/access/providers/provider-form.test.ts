import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IdentityProvider } from '@millwright/api/identity-providers.ts'
import { changesOf, formOf, isSameMapping, newProviderOf, suggestedName } from './provider-form.ts'

const provider: IdentityProvider = {
  id: '00000000-0000-4000-8000-000000000001',
  name: 'keycloak',
  title: 'Keycloak',
  issuer: 'https://login.example.com/realms/plant',
  clientId: 'millwright',
  scopes: ['profile', 'groups'],
  nameClaim: 'preferred_username',
  groupsClaim: 'groups',
  mappings: [],
  mayGrantAdministrator: false,
  apiAudience: null,
  disabled: false,
  hasClientSecret: true,
  redirectUri: 'https://plant.example.com/oauth/callback/1',
  backchannelLogoutUri: 'https://plant.example.com/oauth/backchannel-logout/1',
  createdTimestamp: '2026-01-01T00:00:00.000Z',
  lastModifiedTimestamp: '2026-01-01T00:00:00.000Z',
}

test('suggestedName returns a valid name for any title', () => {
  assert.equal(suggestedName('Entra ID'), 'entra-id')
  assert.equal(suggestedName('  Würth & Söhne (Werk 7) '), 'wu-rth-so-hne-werk-7')
  assert.equal(suggestedName('!!!'), '')
  assert.match(suggestedName(`a${' b'.repeat(80)}`), /^[a-z0-9][a-z0-9-]{0,62}$/)
})

test('newProviderOf leaves out an empty client secret, so that the client is public', () => {
  const form = { title: ' A ', name: 'a', issuer: ' https://a.example ', clientId: 'c', clientSecret: '' }
  assert.deepEqual(newProviderOf(form), { title: 'A', name: 'a', issuer: 'https://a.example', clientId: 'c' })
  assert.equal(newProviderOf({ ...form, clientSecret: ' s ' }).clientSecret, ' s ')
})

test('changesOf returns only the changed fields of a provider', () => {
  const form = formOf(provider)
  assert.deepEqual(changesOf(form, provider), {})
  assert.deepEqual(changesOf({ ...form, scopes: ' profile   groups ' }, provider), {})
  assert.deepEqual(
    changesOf({ ...form, title: 'Plant', scopes: 'profile profile email', apiAudience: 'api' }, provider),
    { title: 'Plant', scopes: ['profile', 'email'], apiAudience: 'api' },
  )
  assert.deepEqual(changesOf({ ...form, clientSecret: 'new' }, provider), { clientSecret: 'new' })
  assert.deepEqual(changesOf({ ...form, clientSecret: 'new', isSecretRemoved: true }, provider), { clientSecret: null })
  assert.deepEqual(changesOf(formOf({ ...provider, apiAudience: 'x' }), provider), { apiAudience: 'x' })
})

test('isSameMapping treats an absent access group as the whole tenant', () => {
  assert.equal(isSameMapping({ value: 'a', role: 'viewer' }, { value: 'a', role: 'viewer', accessGroup: null }), true)
  assert.equal(isSameMapping({ value: 'a', role: 'viewer' }, { value: 'a', role: 'operator' }), false)
})
