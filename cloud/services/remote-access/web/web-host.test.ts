import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import { WebHost } from './web-host.ts'

const id = '0198c0de-0000-7000-8000-000000000001'

describe('WebHost', () => {
  test('the URL of a session has the scheme and the port of the platform', () => {
    const urlOf = (baseUrl: string, remoteAccessHost: string) => new WebHost({ baseUrl, remoteAccessHost }).urlOf(id)
    assert.equal(urlOf('http://127.0.0.1:8080', '*.localhost'), `http://${id}.localhost:8080/`)
    assert.equal(urlOf('https://plant.example', '*.remote.example'), `https://${id}.remote.example/`)
  })

  test('without a wildcard host, the problem explains how to configure one', () => {
    const host = new WebHost({ baseUrl: 'https://plant.example', remoteAccessHost: undefined })
    assert.equal(host.isOn, false)
    assert.equal(host.owns(`${id}.localhost`), false)
    assert.throws(
      () => host.urlOf(id),
      (error) =>
        error instanceof Problem &&
        error.code === 'web_access_off' &&
        /MILLWRIGHT_REMOTE_ACCESS_HOST/.test(error.message) &&
        /DNS record/.test(error.message) &&
        /TLS certificate/.test(error.message) &&
        /reverse proxy/.test(error.message),
    )
  })

  test('owns every name below the wildcard host, and no other name', () => {
    const host = new WebHost({ baseUrl: 'http://127.0.0.1:8080', remoteAccessHost: '*.remote.example' })
    for (const name of [`${id}.remote.example`, 'x.remote.example', `${id}.remote.example.`, 'X.REMOTE.EXAMPLE'])
      assert.ok(host.owns(name), name)
    for (const name of ['remote.example', 'xremote.example', 'x.remote.example.evil.test', '', '127.0.0.1'])
      assert.ok(!host.owns(name), name)
  })

  test('a name of many dots takes little time', () => {
    const host = new WebHost({ baseUrl: 'http://127.0.0.1:8080', remoteAccessHost: '*.remote.example' })
    const before = process.cpuUsage()
    assert.ok(!host.owns(`${'.'.repeat(250_000)}x`))
    assert.ok(process.cpuUsage(before).user < 1_000_000)
  })
})
