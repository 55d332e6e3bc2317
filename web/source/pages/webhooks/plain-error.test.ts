import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causeOf } from './plain-error.ts'

test('an HTTP status has a cause in words, with the status', () => {
  const cause = (error: string) => causeOf(`The receiver answered ${error}`)
  assert.deepEqual(cause('503 Service Unavailable'), { cause: 'temporarilyUnavailable', status: 503 })
  assert.deepEqual(cause('500'), { cause: 'receiverError', status: 500 })
  assert.deepEqual(cause('401 Unauthorized'), { cause: 'signInRefused', status: 401 })
  assert.deepEqual(cause('404 Not Found'), { cause: 'addressNotFound', status: 404 })
  assert.deepEqual(cause('422'), { cause: 'eventRefused', status: 422 })
})

test('an invalid filter is a cause, and other errors and redirects keep the words of the platform', () => {
  assert.deepEqual(causeOf('The filter is not valid: unknown group'), { cause: 'filterInvalid' })
  assert.equal(causeOf('The receiver refused the connection. Check the host and the port'), undefined)
  assert.equal(causeOf('The receiver answered 301 Moved. Redirects are not followed'), undefined)
})
