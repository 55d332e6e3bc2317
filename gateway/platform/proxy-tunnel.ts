import { type ClientRequest, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIPv6, type Socket } from 'node:net'

/** The time limit of the connection to the proxy and of its response. */
const connectMs = 10_000

type Target = { protocol: string; hostname: string; port?: string | null | undefined }

/**
 * Opens a connection to a target through an HTTP proxy, with the method CONNECT. TLS starts after this, so that the proxy
 * cannot read the connection.
 */
export async function openProxyTunnel(proxy: URL, target: Target): Promise<Socket> {
  const host = isIPv6(target.hostname) ? `[${target.hostname}]` : target.hostname
  const authority = `${host}:${target.port || (target.protocol === 'https:' ? 443 : 80)}`
  const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  const isAuthenticated = proxy.username !== '' || proxy.password !== ''
  const request: ClientRequest = (proxy.protocol === 'https:' ? httpsRequest : httpRequest)({
    host: proxy.hostname.replace(/^\[|\]$/g, ''),
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
    // The timeout of the socket would start after the connection to the proxy, and again with each part of the response.
    const timer = setTimeout(() => request.destroy(new Error('The HTTP proxy does not answer')), connectMs)
    request.on('close', () => clearTimeout(timer))
    request.on('error', reject)
    request.on('response', ({ statusCode }) => {
      request.destroy()
      reject(new Error(`The HTTP proxy responded with HTTP status ${statusCode}`))
    })
    request.on('connect', ({ statusCode }, socket: Socket, head) => {
      clearTimeout(timer)
      if (statusCode === 200) {
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
