import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readSettings } from './settings.ts'
import { SetupError } from './setup-error.ts'

describe('settings of the gateway', () => {
  test('readSettings returns defaults for a gateway on the same machine as the cloud', () => {
    const { registryHost, registryPort, linkVendors, configFile, home, spoolBytes } = readSettings({})
    assert.deepEqual([registryHost, registryPort, spoolBytes], ['127.0.0.1', 50_051, 256 * 1024 * 1024])
    assert.deepEqual(linkVendors, ['millwright', 'siemens'])
    assert.equal(configFile, `${home}/gateway-config.json`)
  })

  test('readSettings reads the environment and ignores settings of the cloud', () => {
    const { registryPort, linkVendors } = readSettings({
      MILLWRIGHT_GATEWAY_REGISTRY_PORT: '0',
      MILLWRIGHT_LINK_VENDORS: ' acme , siemens,acme',
      MILLWRIGHT_HOME: '/elsewhere',
    })
    assert.equal(registryPort, 0)
    assert.deepEqual(linkVendors, ['acme', 'siemens'])
  })

  test('readSettings opens ports for other machines only with an explicit address', () => {
    const ports = { MILLWRIGHT_GATEWAY_TLS_PORT: '50052', MILLWRIGHT_GATEWAY_AGENT_TLS_PORT: '8091' }
    for (const [variable, port] of Object.entries(ports))
      assert.throws(() => readSettings({ [variable]: port }), /MILLWRIGHT_GATEWAY_TLS_HOST is not: set it/)
    const { tlsHost, tlsPort, agentTlsPort, tlsNames } = readSettings({
      ...ports,
      MILLWRIGHT_GATEWAY_TLS_HOST: '10.0.0.5',
      MILLWRIGHT_GATEWAY_TLS_NAMES: 'gateway.plant.example, 192.168.0.5',
    })
    assert.deepEqual([tlsHost, tlsPort, agentTlsPort], ['10.0.0.5', 50_052, 8_091])
    assert.deepEqual(tlsNames, ['gateway.plant.example', '192.168.0.5'])
    assert.deepEqual([readSettings({}).tlsPort, readSettings({}).agentTlsPort], [undefined, undefined])
  })

  const wrong: [string, string, RegExp][] = [
    ['MILLWRIGHT_GATEWAY_TLS_PORT', '70000', /whole number from 0 to 65535/],
    ['MILLWRIGHT_GATEWAY_TLS_NAMES', 'https://gateway', /list of DNS names and IP addresses/],
    ['MILLWRIGHT_GATEWAY_REGISTRY_PORT', '70000', /whole number from 0 to 65535, but is "70000"/],
    ['MILLWRIGHT_GATEWAY_PORT', '1', /Unknown setting MILLWRIGHT_GATEWAY_PORT/],
    ['MILLWRIGHT_LINK_VENDORS', 'Sie/mens', /package prefixes/],
    ['MILLWRIGHT_LINK_VENDORS', ',', /at least one prefix/],
    ['MILLWRIGHT_GATEWAY_HTTP_PROXY', 'proxy:3128', /must be a URL/],
    ['MILLWRIGHT_GATEWAY_LOG_LEVEL', 'loud', /must be one of/],
    ['MILLWRIGHT_GATEWAY_LINK_SILENCE_SECONDS', '0', /whole number from 1 to 86400/],
    ['MILLWRIGHT_GATEWAY_SPOOL_MIB', '0', /whole number from 4/],
  ]
  for (const [variable, value, sentence] of wrong) {
    test(`readSettings rejects ${variable}=${value} with one sentence`, () => {
      assert.throws(
        () => readSettings({ [variable]: value }),
        (error) => error instanceof SetupError && sentence.test(error.message),
      )
    })
  }
})
