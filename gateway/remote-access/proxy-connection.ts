import { type ClientRequest, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** The time limit of the connection through the proxy. */
const connectMs = 10_000

/**
 * Opens a connection to the platform through an HTTP proxy, with the method CONNECT. If the platform uses https, TLS is
 * between the gateway and the platform, so the proxy cannot read the connection.
 */
export async function connectThroughProxy(proxy: URL, platform: URL): Promise<Socket> {
  const socket = await tunnelOf(proxy, platform)
  if (platform.protocol !== 'https:') return socket
  const host = hostOf(platform)
  const secure = connectTls({ socket, host, ...(isIP(host) === 0 && { servername: host }) })
  return settled(secure, 'secureConnect', `TLS to ${platform.host} through the proxy`)
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

async function tunnelOf(proxy: URL, platform: URL): Promise<Socket> {
  const authority = `${platform.hostname}:${platform.port || (platform.protocol === 'https:' ? 443 : 80)}`
  const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  const isAuthenticated = proxy.username !== '' || proxy.password !== ''
  const request: ClientRequest = (proxy.protocol === 'https:' ? httpsRequest : httpRequest)({
    host: hostOf(proxy),
    port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
    method: 'CONNECT',
    path: authority,
    agent: false,
    headers: {
      host: authority,
      ...(isAuthenticated && { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` }),
    },
  })
  return new Promise((resolve, reject) => {
    request.setTimeout(connectMs, () => request.destroy(new Error('The HTTP proxy does not answer')))
    request.on('error', reject)
    request.on('response', ({ statusCode }) => {
      request.destroy()
      reject(new Error(`The HTTP proxy responded with HTTP status ${statusCode}`))
    })
    request.on('connect', ({ statusCode }, socket: Socket, head) => {
      if (statusCode === 200) {
        socket.setTimeout(0)
        if (head.length > 0) socket.unshift(head)
        resolve(socket)
      } else {
        socket.destroy()
        reject(new Error(`The HTTP proxy refused the connection with HTTP status ${statusCode}`))
      }
    })
    request.end()
  })
}

function settled<Connected extends Socket>(socket: Connected, event: string, what: string): Promise<Connected> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(new Error(`${what} was not established in time`)), connectMs)
    socket.once('error', reject)
    socket.once('close', () => {
      clearTimeout(timer)
      reject(new Error(`${what} was closed`))
    })
    socket.once(event, () => {
      clearTimeout(timer)
      socket.off('error', reject)
      resolve(socket)
    })
  })
}
