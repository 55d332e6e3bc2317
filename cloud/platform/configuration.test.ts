import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cloudSettings, readCloudConfiguration } from '../settings.ts'
import { describeConfiguration } from './configuration.ts'
import { StartError } from './start-error.ts'

describe('configuration', () => {
  test('uses a default for every setting that is not set', () => {
    const configuration = readCloudConfiguration({})
    assert.equal(configuration.port, 8080)
    assert.equal(configuration.host, '127.0.0.1')
    assert.equal(configuration.home, '.millwright')
  })

  test('treats an empty environment variable as not set', () => {
    assert.equal(readCloudConfiguration({ MILLWRIGHT_PORT: '' }).port, 8080)
  })

  const mistakes: [string, Record<string, string>, RegExp][] = [
    [
      'a wildcard host that contains the host of the platform',
      { MILLWRIGHT_BASE_URL: 'https://plant.example.com', MILLWRIGHT_REMOTE_ACCESS_HOST: '*.example.com' },
      /host plant\.example\.com of MILLWRIGHT_BASE_URL is in the domain of MILLWRIGHT_REMOTE_ACCESS_HOST \(\*\.example\.com\)/,
    ],
    [
      'a wildcard host below the host of the platform',
      { MILLWRIGHT_BASE_URL: 'https://plant.example.com', MILLWRIGHT_REMOTE_ACCESS_HOST: '*.plant.example.com' },
      /host plant\.example\.com of MILLWRIGHT_BASE_URL is in the domain of/,
    ],
    [
      'a wildcard host without a wildcard',
      { MILLWRIGHT_REMOTE_ACCESS_HOST: 'remote.example.com' },
      /MILLWRIGHT_REMOTE_ACCESS_HOST must be a host such as \*\.remote\.example\.com/,
    ],
    [
      'an unknown setting',
      { MILLWRIGHT_PROT: '1' },
      /Unknown setting MILLWRIGHT_PROT\. Did you mean MILLWRIGHT_PORT\?/,
    ],
    [
      'a port that is not a number',
      { MILLWRIGHT_PORT: 'http' },
      /MILLWRIGHT_PORT must be a whole number from 0 to 65535/,
    ],
    ['a port that is too high', { MILLWRIGHT_PORT: '70000' }, /MILLWRIGHT_PORT/],
    ['a number with a fraction', { MILLWRIGHT_PORT: '80.5' }, /MILLWRIGHT_PORT/],
    ['an unknown log level', { MILLWRIGHT_LOG_LEVEL: 'loud' }, /must be one of fatal, error, warn/],
    [
      'a database URL that is not for PostgreSQL',
      { DATABASE_URL: 'mysql://x' },
      /DATABASE_URL must be a URL that starts with postgres:\/\//,
    ],
    [
      'a base URL without a valid host',
      { MILLWRIGHT_BASE_URL: 'http://%%' },
      /MILLWRIGHT_BASE_URL must be an address such as https:/,
    ],
    ['a base URL with a path', { MILLWRIGHT_BASE_URL: 'https://plant.example/app' }, /without a path/],
    [
      'an origin without a scheme',
      { MILLWRIGHT_CORS_ORIGINS: 'https://a.example,b.example' },
      /MILLWRIGHT_CORS_ORIGINS .*"b\.example"/,
    ],
    [
      'a trusted proxy that is not an address',
      { MILLWRIGHT_TRUSTED_PROXIES: 'nonsense' },
      /MILLWRIGHT_TRUSTED_PROXIES must be a list of values such as/,
    ],
    [
      'a network with an invalid prefix length',
      { MILLWRIGHT_TRUSTED_PROXIES: '10.0.0.0/33' },
      /MILLWRIGHT_TRUSTED_PROXIES/,
    ],
    ['a setting that does not exist', { MILLWRIGHT_EXTERNAL_ISSUERS: '[]' }, /MILLWRIGHT_EXTERNAL_ISSUERS/],
  ]
  for (const [what, environment, sentence] of mistakes) {
    test(`reports ${what} in one sentence`, () => {
      assert.throws(
        () => readCloudConfiguration(environment),
        (error) => error instanceof StartError && sentence.test(error.message) && !error.message.includes('\n'),
      )
    })
  }

  test('accepts a wildcard host that does not contain the host of the platform', () => {
    const { remoteAccessHost } = readCloudConfiguration({
      MILLWRIGHT_BASE_URL: 'https://plant.example.com',
      MILLWRIGHT_REMOTE_ACCESS_HOST: '*.Remote.example.com',
    })
    assert.equal(remoteAccessHost, '*.remote.example.com')
  })

  test('normalizes origins as browsers do', () => {
    const { baseUrl, corsOrigins, trustedProxies } = readCloudConfiguration({
      MILLWRIGHT_BASE_URL: 'https://Plant.example:443/',
      MILLWRIGHT_CORS_ORIGINS: 'https://a.example/, http://[::1]:3000',
      MILLWRIGHT_TRUSTED_PROXIES: '10.0.0.5,10.0.0.0/8,fd00::/8',
    })
    assert.equal(baseUrl, 'https://plant.example')
    assert.deepEqual(corsOrigins, ['https://a.example', 'http://[::1]:3000'])
    assert.deepEqual(trustedProxies, ['10.0.0.5', '10.0.0.0/8', 'fd00::/8'])
  })

  test('omits the password from the error for an invalid base URL', () => {
    assert.throws(
      () => readCloudConfiguration({ MILLWRIGHT_BASE_URL: 'https://name:very-private@plant.example' }),
      (error) => error instanceof StartError && !error.message.includes('very-private'),
    )
  })

  test('masks secrets in the printed configuration', () => {
    const shown = describeConfiguration(cloudSettings, {
      DATABASE_URL: 'postgres://owner:very-private@db/millwright',
      MILLWRIGHT_MASTER_KEY: 'very-private',
      MILLWRIGHT_METRICS_TOKEN: 'very-private',
      MILLWRIGHT_PEERS: 'audit=https://name:very-private@plant.example',
    })
    assert.ok(!JSON.stringify(shown).includes('very-private'))
    assert.ok(shown.every(({ help }) => help.length > 10))
  })
})
