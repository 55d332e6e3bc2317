import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { requireStrongPassword, weaknessOf } from './password.ts'
import { hashPassword, isPassword } from './password-hash.ts'

const weak = [
  ['short', 'short pass'],
  ['eleven characters', 'abcdefghij1'],
  ['eleven characters that take many code units', '🔧🔨🪛🔩⚙️🪚🧰🪜🧲🔭'],
  ['too long', `${'correct horse '.repeat(18)}battery`],
  ['one character again and again', 'aaaaaaaaaaaaaaaa'],
  ['four characters again and again', '1212343412123434'],
  ['a common one', 'Password1234'],
  ['the name itself', 'jane.doe.operator', 'jane.doe.operator'],
  ['the name within', 'i-am-JANE.DOE-really', 'jane.doe'],
] as const

for (const [what, password, name = 'somebody'] of weak) {
  test(`a password is weak: ${what}`, () => {
    assert.throws(() => requireStrongPassword(password, name), { code: 'weak_password' })
  })
}

test('a long passphrase is strong, whatever its characters', () => {
  for (const password of ['a pump, a motor and a belt', '螺丝刀和扳手在工具箱里面放着', 'tr0ub4dor&3-and-more']) {
    assert.equal(weaknessOf(password, 'jane.doe'), undefined)
  }
})

test('a name of one or two letters does not forbid every password that has those letters', () => {
  assert.equal(weaknessOf('a pump, a motor and a belt', 'a'), undefined)
})

test('every refusal says what to do', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (password) => {
      const weakness = weaknessOf(password, 'jane.doe')
      assert.ok(weakness === undefined || /^(Use|Choose) /.test(weakness))
    }),
  )
})

test('a hash carries its parameters and another salt each time, and only the right password fits it', async () => {
  const [first, second] = await Promise.all([hashPassword('a pump, a motor'), hashPassword('a pump, a motor')])
  assert.match(first, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  assert.notEqual(first, second)
  assert.equal(await isPassword('a pump, a motor', first), true)
  assert.equal(await isPassword('a pump, a motor ', first), false)
})

test('the same characters fit however they are composed', async () => {
  assert.equal(await isPassword('ein schöner Tag', await hashPassword('ein scho\u0308ner Tag')), true)
})

test('a hash with other parameters still fits', async () => {
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

test('nobody has no password', async () => {
  assert.equal(await isPassword('', undefined), false)
})
