import assert from 'node:assert/strict'
import { test } from 'node:test'
import { preferenceLimits } from '@millwright/api/identity.ts'
import { testHub } from '../../../platform/testing/hub.ts'

test('stores preferences per user and does not show them to other users', async () => {
  await using hub = await testHub()
  const [jane, joe] = [await hub.as('viewer'), await hub.as('viewer')]
  assert.deepEqual(await jane.identity.readPreferences({}), { data: {} })
  const columns = [{ path: 'name', width: 200 }, null, 'ä', 1.5, true]
  await jane.identity.putPreference({ params: { name: 'assets.columns' }, body: { data: { value: columns } } })
  await jane.identity.putPreference({ params: { name: 'theme' }, body: { data: { value: 'dark' } } })
  await jane.identity.putPreference({ params: { name: 'theme' }, body: { data: { value: 'light' } } })
  assert.deepEqual(await jane.identity.readPreferences({}), { data: { 'assets.columns': columns, theme: 'light' } })
  assert.deepEqual(await joe.identity.readPreferences({}), { data: {} })

  await jane.identity.putPreference({ params: { name: 'theme' }, body: { data: { value: null } } })
  assert.deepEqual(await jane.identity.readPreferences({}), { data: { 'assets.columns': columns } })
})

test('refuses a preference above the limits on count and size', async () => {
  await using hub = await testHub()
  const jane = await hub.as('viewer')
  const put = (name: string, value: unknown) =>
    jane.identity.putPreference({ params: { name }, body: { data: { value } } })
  await assert.rejects(put('large', 'x'.repeat(preferenceLimits.bytes)), { code: 'body_too_large' })
  await assert.rejects(put('No Name', 1), { code: 'invalid_path' })
  for (let at = 0; at < preferenceLimits.names; at++) await put(`kept.${at}`, at)
  await put('kept.7', 'again')
  await assert.rejects(put('one-more', 1), { code: 'conflict' })
})
