import assert from 'node:assert/strict'
import { test } from 'node:test'
import { providerLimits } from '@millwright/api/identity-providers.ts'
import { claimAt, groupsIn, mappedRoles, methodsIn, nameOf, subjectOf } from './claims.ts'

test('reads a claim by its name, or by the path of nested objects', () => {
  const claims = { groups: ['a'], realm_access: { roles: ['b'] }, 'https://example.com/roles': ['c'], 'x.y': 1 }
  assert.deepEqual(claimAt(claims, 'groups'), ['a'])
  assert.deepEqual(claimAt(claims, 'realm_access.roles'), ['b'])
  assert.deepEqual(claimAt(claims, 'https://example.com/roles'), ['c'])
  assert.equal(claimAt(claims, 'x.y'), 1)
  for (const name of ['missing', 'groups.length', 'constructor', '__proto__', 'realm_access.constructor.name'])
    assert.equal(claimAt(claims, name), undefined)
})

test('accepts a groups claim that is a text or a list, and ignores values that are not texts', () => {
  assert.deepEqual([...groupsIn({ groups: 'admins' }, 'groups')], ['admins'])
  assert.deepEqual([...groupsIn({ groups: ['a', 1, null, { a: 1 }, 'b', 'a'] }, 'groups')], ['a', 'b'])
  assert.deepEqual([...groupsIn({}, 'groups')], [])
  assert.deepEqual([...groupsIn({ groups: { a: 'b' } }, 'groups')], [])
})

const overages = [
  ['a distributed claim', { _claim_names: { groups: 'src1' }, _claim_sources: { src1: {} } }],
  ['hasgroups', { hasgroups: true }],
  ['groups:src1', { 'groups:src1': 'x' }],
] as const
for (const [what, claims] of overages) {
  test(`refuses claims with a group overage: ${what}`, () => {
    assert.throws(() => groupsIn(claims, 'groups'), { code: 'group_overage', message: /Groups assigned to the/ })
    assert.deepEqual([...groupsIn({ ...claims, groups: ['a'] }, 'groups')], ['a'])
    assert.deepEqual(mappedRoles(claims, { groupsClaim: 'groups', mappings: [] }), [])
  })
}

test('refuses more values of the groups claim than the limit', () => {
  const groups = Array.from({ length: providerLimits.claimValues + 1 }, (_, index) => `group ${index}`)
  assert.throws(() => groupsIn({ groups }, 'groups'), { code: 'too_many_groups' })
  assert.equal(groupsIn({ groups: groups.slice(1) }, 'groups').size, providerLimits.claimValues)
})

test('maps the exact values of the groups claim, and each role once', () => {
  const mappings = [
    { value: 'a', role: 'viewer' },
    { value: 'b', role: 'viewer', accessGroup: null },
    { value: 'b', role: 'operator', accessGroup: '0197a4f2-0000-7000-8000-000000000001' },
    { value: 'A', role: 'administrator' },
  ]
  assert.deepEqual(mappedRoles({ groups: ['a', 'b', ' A'] }, { groupsClaim: 'groups', mappings }), [
    { role: 'viewer', accessGroupId: null },
    { role: 'operator', accessGroupId: '0197a4f2-0000-7000-8000-000000000001' },
  ])
})

test('refuses a subject that is missing, too long or not a text', () => {
  for (const sub of [undefined, '', 'x'.repeat(256), 7, ['a'], 'a\u0000b', 'a\nb'])
    assert.throws(() => subjectOf({ sub }), { code: 'invalid_subject' })
  assert.equal(subjectOf({ sub: 'jane' }), 'jane')
})

test('uses the subject as the name if the name claim is missing, empty or contains control characters', () => {
  for (const name of [undefined, '', '  ', 'jane\u202eenaj', 'a\nb', 7])
    assert.equal(nameOf({ sub: 's1', preferred_username: name }, 'preferred_username'), 's1')
  assert.equal(nameOf({ sub: 's1', preferred_username: ' jane ' }, 'preferred_username'), 'jane')
})

test('lists the authentication methods of the provider after fed', () => {
  assert.deepEqual(methodsIn({}), ['fed'])
  assert.deepEqual(methodsIn({ amr: ['pwd', 'mfa', '<script>', 1] }), ['fed', 'pwd', 'mfa'])
})
