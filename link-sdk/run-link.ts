import type { LinkDefinition } from './define-link.ts'
import { helpFor, readSettings, UsageError } from './settings.ts'
import { startLink } from './start-link.ts'

const exitCodes = { failed: 1, usage: 2 } as const

/**
 * Runs a link as a process until SIGINT or SIGTERM. A link that a gateway started also stops when the gateway ends. The
 * settings come from the arguments and the environment.
 */
export async function runLink(link: LinkDefinition, args: readonly string[] = process.argv.slice(2)): Promise<void> {
  try {
    const settings = readSettings(args, process.env)
    if (settings === 'help') return void process.stdout.write(helpFor(link.manifest.name))
    const stopping = stopRequest()
    // A gateway that stops a link ends its calls at once, so that a link that was switched off sends nothing.
    const isChild = process.connected
    const running = await startLink(
      link,
      isChild ? { ...settings, graceMs: 0, token: await tokenOfGateway() } : settings,
    )
    void stopping.then(() => running.stop()).then(() => process.exit(0))
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = error instanceof UsageError ? exitCodes.usage : exitCodes.failed
  }
}

/** The time that a link waits for its token. It starts without a token if another program than a gateway started it. */
const tokenWithinMs = 10_000

/** Returns the token that the gateway sends to each link that it starts. The gateway accepts the id of the link only with it. */
function tokenOfGateway(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const end = (token?: string) => {
      clearTimeout(timer)
      process.off('message', onMessage)
      resolve(token)
    }
    const onMessage = (message: unknown) => {
      const { linkToken } = (message ?? {}) as { linkToken?: unknown }
      if (typeof linkToken === 'string') end(linkToken)
    }
    const timer = setTimeout(end, tokenWithinMs)
    process.on('message', onMessage)
  })
}

/**
 * Resolves when the process should end: at SIGINT, at SIGTERM, and when the channel to the starting process closes. The
 * channel also closes when the starting process is killed.
 */
function stopRequest(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve())
    process.once('SIGTERM', () => resolve())
    process.once('disconnect', () => resolve())
    // The channel does not keep a link alive that could not be started.
    process.channel?.unref()
  })
}
