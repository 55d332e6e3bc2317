// Checks once whether a service of this machine is ready. It reads the address from the settings of the service.
// Usage: node readiness.mjs platform <version> | gateway
// Exit codes: 0 ready, 1 not ready, 2 another version is ready. Prints the reason.
import http from 'node:http'
import https from 'node:https'

const [service, version] = process.argv.slice(2)
const { MILLWRIGHT_HOST: host = '', MILLWRIGHT_PORT: port = '', MILLWRIGHT_TLS_CERT: cert = '' } = process.env
const { MILLWRIGHT_GATEWAY_PROXY_PORT: gatewayPort = '' } = process.env
const anyAddress = { '': '127.0.0.1', '0.0.0.0': '127.0.0.1', '::': '[::1]' }
const base =
  service === 'gateway'
    ? `http://127.0.0.1:${gatewayPort || '8090'}`
    : `${cert === '' ? 'http' : 'https'}://${anyAddress[host] ?? (host.includes(':') ? `[${host}]` : host)}:${port || '8080'}`

try {
  if (service === 'gateway') await read('/gateway/status')
  else {
    await read('/readyz')
    const { product } = JSON.parse(await read('/version'))
    if (version !== undefined && product !== version) {
      console.log(`The platform at ${base} has version ${product} instead of ${version}`)
      process.exitCode = 2
    }
  }
} catch (error) {
  console.log(error.message || error.code)
  process.exitCode = 1
}

/** Reads a page of this machine. The certificate is not verified, because its name is that of the public address. */
function read(path) {
  return new Promise((resolve, reject) => {
    const options = { timeout: 5_000, rejectUnauthorized: false, agent: false }
    const request = (cert !== '' && service !== 'gateway' ? https : http).get(`${base}${path}`, options, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part) => {
        text += part
      })
      response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(new Error(reasonIn(text)))))
      response.on('error', reject)
    })
    request.on('timeout', () => request.destroy(new Error(`${base} does not answer`)))
    request.on('error', reject)
  })
}

function reasonIn(text) {
  try {
    return JSON.parse(text).reason ?? text
  } catch {
    return text
  }
}
