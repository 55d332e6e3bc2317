import assert from 'node:assert/strict'
import { test } from 'node:test'
import { kindOf, userOf } from './credential-kind.ts'

test('recognizes the kind and the user of credentials by their fields', () => {
  const cases = [
    [{ username: 'mes', password: '***' }, 'user', 'mes'],
    [{ version: '3', user: 'netops', authPassword: '***' }, 'user', 'netops'],
    [{ version: '3', user: 'netops', authProtocol: 'sha256', authPassword: '***' }, 'snmpUser', 'netops'],
    [{ version: '2c', community: '***' }, 'community', undefined],
    [{ certificate: 'PEM', private_key: '***' }, 'certificate', undefined],
    [{ token: '***', user: 7 }, 'other', undefined],
  ] as const
  for (const [values, kind, user] of cases) assert.deepEqual([kindOf(values), userOf(values)], [kind, user])
})
