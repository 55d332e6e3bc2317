import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causeOf, checkFor, pathErrorOf } from './plain-error.ts'

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

test('what to check after an error fits its HTTP status', () => {
  const check = (error: string) => checkFor(`The receiver answered ${error}`, true)
  assert.deepEqual(['401', '403', '404', '429', '500', '503', '422'].map(check), [
    'checkSignIn',
    'checkSignIn',
    'checkPath',
    'checkLimit',
    'checkLog',
    'checkService',
    'checkEvents',
  ])
  const refused = 'The receiver refused the connection. Check the host and the port'
  assert.equal(check('301 Moved. Redirects are not followed'), 'checkPath')
  assert.equal(checkFor(refused, true), 'checkAgain')
  assert.equal(checkFor(refused, false), 'checkAddress')
})

test('an HTTP status is the error of a path only if another path of the host works', () => {
  const [alerts, orders] = ['http://cmms.example.com/alerts?a=1', 'http://cmms.example.com/orders']
  const error = (status: string) => `The receiver answered ${status}`
  assert.deepEqual(pathErrorOf(error('503 Service Unavailable'), alerts, orders), {
    cause: 'temporarilyUnavailable',
    status: 503,
    path: '/alerts',
  })
  assert.equal(pathErrorOf(error('403'), alerts, orders)?.cause, 'signInRefused')
  assert.equal(pathErrorOf(error('503'), alerts, 'http://cmms.example.com/alerts'), undefined)
  assert.equal(pathErrorOf('The receiver refused the connection', alerts, orders), undefined)
  assert.equal(pathErrorOf(null, alerts, orders), undefined)
})
