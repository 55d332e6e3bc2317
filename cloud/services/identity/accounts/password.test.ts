import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { requireStrongPassword, weaknessOf } from './password.ts'
import { hashPassword, isPassword } from './password-hash.ts'

const weak = [
  ['ten characters', 'short pass'],
  ['eleven characters', 'abcdefghij1'],
  ['few characters with many code units', '🔧🔨🪛🔩⚙️🪚🧰🪜🧲🔭'],
  ['too long', `${'correct horse '.repeat(18)}battery`],
  ['one repeated character', 'aaaaaaaaaaaaaaaa'],
  ['only four different characters', '1212343412123434'],
  ['a common password', 'Password1234'],
  ['the user name', 'jane.doe.operator', 'jane.doe.operator'],
  ['a text that contains the user name', 'i-am-JANE.DOE-really', 'jane.doe'],
] as const

for (const [what, password, name = 'somebody'] of weak) {
  test(`refuses a weak password: ${what}`, () => {
    assert.throws(() => requireStrongPassword(password, name), { code: 'weak_password' })
  })
}

test('accepts a long passphrase, regardless of its characters', () => {
  for (const password of ['a pump, a motor and a belt', '螺丝刀和扳手在工具箱里面放着', 'tr0ub4dor&3-and-more']) {
    assert.equal(weaknessOf(password, 'jane.doe'), undefined)
  }
})

test('accepts a password that contains a user name of one or two letters', () => {
  assert.equal(weaknessOf('a pump, a motor and a belt', 'a'), undefined)
})

test('returns an instruction with every refused password', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (password) => {
      const weakness = weaknessOf(password, 'jane.doe')
      assert.ok(weakness === undefined || /^(Use|Choose) /.test(weakness))
    }),
  )
})

test('creates a password hash with its parameters and a new salt, which only the correct password matches', async () => {
  const [first, second] = await Promise.all([hashPassword('a pump, a motor'), hashPassword('a pump, a motor')])
  assert.match(first, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  assert.notEqual(first, second)
  assert.equal(await isPassword('a pump, a motor', first), true)
  assert.equal(await isPassword('a pump, a motor ', first), false)
})

test('accepts a password with the same characters in another Unicode composition', async () => {
  assert.equal(await isPassword('ein schöner Tag', await hashPassword('ein scho\u0308ner Tag')), true)
})

test('verifies a password hash that was created with other argon2id parameters', async () => {
  const nonce = Buffer.from('somesaltsomesalt')
  const tag = argon2Sync('argon2id', {
    message: 'password',
    nonce,
    memory: 64,
    passes: 1,
    parallelism: 1,
    tagLength: 24,
  })
  const stored = `$argon2id$v=19$m=64,t=1,p=1$${nonce.toString('base64').replace(/=+$/, '')}$${tag.toString('base64')}`
  assert.equal(await isPassword('password', stored), true)
  assert.equal(await isPassword('passwort', stored), false)
})

test('refuses every password for an unknown user', async () => {
  assert.equal(await isPassword('', undefined), false)
})
