import type { Socket } from 'node:net'
import { type Duplex, pipeline } from 'node:stream'
import type { Dispatcher } from 'undici'
import { browserCookie } from './entry-cookie.ts'
import type { Exchange } from './http-exchange.ts'
import { type Header, headerPairs, isValidValue } from './message-headers.ts'
import { sendPage } from './message-page.ts'
import { requestHeaders } from './request-headers.ts'
import { requestLogLine } from './request-log.ts'
import { busyPage, endedPage, failurePage } from './session-pages.ts'
import { webLimits } from './web-limits.ts'

type SocketExchange = Exchange & { connection: Socket; head: Buffer }

/** A response of the device to a request for a WebSocket. The stream is undefined if the device refused it. */
type Handshake = { status: number; headers: Header[]; stream: Duplex | undefined }

/** Headers of the device's response that a browser needs to open the WebSocket. */
const handshakeHeaders = ['sec-websocket-accept', 'sec-websocket-protocol', 'sec-websocket-extensions', 'set-cookie']

/** Opens a WebSocket to the device, and passes all bytes between the browser and the device. */
export async function exchangeSocket(exchange: SocketExchange): Promise<void> {
  const { request, response, session, connection, head, consoleUrl } = exchange
  const running = session.begin()
  if (running === undefined) return sendPage(response, busyPage())
  const startedAt = Date.now()
  const abort = () => running.abort()
  connection.once('close', abort)
  let status = 502
  let bytes = 0
  try {
    const handshake = await open(exchange, running.signal)
    status = handshake.status
    const { stream } = handshake
    if (stream === undefined) {
      response.writeHead(status, { 'content-length': '0', connection: 'close' }).end()
      return
    }
    response.detachSocket(connection)
    connection.setTimeout(0).setNoDelay(true)
    connection.write(answerText(handshake, exchange.origin))
    stream.write(head)
    bytes = await connect(connection, stream, running.signal)
  } catch (error) {
    const current = await session.current()
    const page = current.state === 'open' ? failurePage(error) : endedPage(current, consoleUrl)
    status = page.status
    sendPage(response, page)
  } finally {
    await session.finish(running, requestLogLine({ startedAt, method: 'GET', url: request.url ?? '/', status, bytes }))
  }
}

function open({ request, session, origins, baseUrl }: SocketExchange, signal: AbortSignal): Promise<Handshake> {
  const headers = requestHeaders(headerPairs(request.rawHeaders), { device: session.device, origins, issuer: baseUrl })
  return new Promise((resolve, reject) => {
    let stopWaiting = () => {}
    const received = ({ rawHeaders }: Dispatcher.DispatchController) =>
      headerPairs((rawHeaders as Buffer[]).map((value) => value.toString('latin1')))
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        const abort = () => controller.abort(new Error('The session or the connection has ended'))
        stopWaiting = () => signal.removeEventListener('abort', abort)
        signal.addEventListener('abort', abort)
        if (signal.aborted) abort()
      },
      onRequestUpgrade(controller, status, _headers, stream) {
        stopWaiting()
        stream.on('error', () => {})
        if (signal.aborted) stream.destroy()
        resolve({ status, headers: received(controller), stream })
      },
      onResponseStart(controller, status) {
        if (status < 200) return
        stopWaiting()
        resolve({ status, headers: received(controller), stream: undefined })
        controller.abort(new Error('The device refused the WebSocket'))
      },
      onResponseData() {},
      onResponseEnd() {},
      onResponseError(_controller, error) {
        stopWaiting()
        reject(error)
      },
    }
    session.connections.dispatch(
      {
        method: 'GET',
        path: request.url ?? '/',
        headers: headers.flat(),
        upgrade: 'websocket',
        headersTimeout: webLimits.handshakeMs,
      },
      handler,
    )
  })
}

function answerText({ headers }: Handshake, origin: string): string {
  const isSecure = origin.startsWith('https:')
  const lines = headers.flatMap(([name, value]) => {
    if (!handshakeHeaders.includes(name) || !isValidValue(value)) return []
    const sent = name === 'set-cookie' ? browserCookie(value, { isSecure }) : value
    return sent === undefined ? [] : [`${name}: ${sent}`]
  })
  return ['HTTP/1.1 101 Switching Protocols', 'connection: Upgrade', 'upgrade: websocket', ...lines, '', ''].join(
    '\r\n',
  )
}

/** Passes all bytes until one side closes. Returns the number of bytes from the device. */
function connect(connection: Socket, stream: Duplex, signal: AbortSignal): Promise<number> {
  return new Promise((resolve) => {
    const before = connection.bytesWritten
    const end = () => {
      connection.destroy()
      stream.destroy()
    }
    const finished = () => {
      end()
      signal.removeEventListener('abort', end)
      resolve(connection.bytesWritten - before)
    }
    signal.addEventListener('abort', end)
    pipeline(connection, stream, () => {})
    pipeline(stream, connection, finished)
    if (signal.aborted) end()
  })
}
