import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatsOf } from '../../../app/language/formats.ts'
import { causeCountsText, causeOf, needsSignIn } from './error-cause.ts'
import { errorMessages } from './error-messages.ts'

test('shows the cause of a device error in words, with advice and its code for the support', () => {
  for (const language of ['en', 'de'] as const) {
    const text = errorMessages[language]
    for (const error of [{ code: 9 }, { code: 16 }, { code: 99 }, { code: 3, reason: 'identity_taken' }]) {
      const { name, advice, action } = causeOf(error, text)
      assert.doesNotMatch(`${name} ${advice} ${action}`, /[A-Z]+_[A-Z]+|[a-z]_[a-z]|\d/, JSON.stringify(error))
      assert.notEqual(advice, '')
      assert.ok(action.length <= 45, action)
    }
  }
  const text = errorMessages.en
  assert.equal(causeOf({ code: 9 }, text).code, 'FAILED_PRECONDITION 9')
  assert.equal(causeOf({ code: 99 }, text).code, '99')
  assert.equal(causeOf({ code: 3, reason: 'identity_taken' }, text).name, 'Identity conflict')
  assert.equal(causeOf({ code: 3, reason: 'invalid_asset' }, text).name, 'Refused by the inventory')
})

test('counts the errors of a run by cause, the most frequent first', () => {
  const counts = [
    { code: 14, count: 2 },
    { code: 16, count: 1_234 },
    { code: 3, reason: 'invalid_asset', count: 1 },
    { code: 3, reason: 'missing_field', count: 2 },
  ]
  assert.equal(
    causeCountsText(counts, { text: errorMessages.en, number: formatsOf('en').number }),
    'Sign-in failed: 1,234, Refused by the inventory: 3, No answer: 2',
  )
})

test('only an error of the asset link is an error of the sign-in', () => {
  assert.equal(needsSignIn({ code: 16 }), true)
  assert.equal(needsSignIn({ code: 14 }), false)
  assert.equal(needsSignIn({ code: 16, reason: 'identity_taken' }), false)
})
