import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { etagOf, type Page, type PageRequest, type PageResponse } from './platform/http/pages.ts'

const distFolder = fileURLToPath(new URL('../web/dist/', import.meta.url))

/**
 * No script and no style but those of the build, no request to anybody else. Text becomes markup only through the one
 * policy that the console installs, which lets drawings of its own icons pass and nothing else. Pictures may be blobs:
 * what the platform draws is fetched with a token first.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types default',
].join('; ')

const mediaTypes: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Millwright</title>
<h1>The console is not built</h1>
<p>Start the platform with <code>npm start</code>, or build the console with <code>node web/build.mjs</code>.</p>
</html>
`

/**
 * The console as it was built last. `/console/files/` has names that change with their content, so browsers keep them;
 * every other address below `/console/` without an ending is a page of the console, and answers with its frame.
 */
export function consolePages(): Page[] {
  const builds = new Builds()
  const frame = (asked: PageRequest) => builds.serve('index.html', asked)
  return [
    { path: '/', answer: frame },
    { path: '/auth/callback', answer: frame },
    { path: '/console', answer: frame },
    {
      path: '/console/*',
      answer(asked) {
        const name = asked.path.slice('/console/'.length)
        if (!isPlain(name)) return undefined
        return extname(name) === '' ? frame(asked) : builds.serve(name, asked)
      },
    },
  ]
}

/** Names of files that a build has: no way out of its folder. */
function isPlain(name: string): boolean {
  return !name.includes('..') && !name.includes('\0') && !name.includes('\\') && !/\.(br|gz|json)$/.test(name)
}

type Kept = { bytes: Buffer; etag: string; encoding: 'br' | 'gzip' | undefined }

/** Files of the current build, kept in memory; a new build is noticed with the next page that is opened. */
class Builds {
  #stamp = ''
  readonly #files = new Map<string, Promise<Kept | undefined>>()

  async serve(name: string, asked: PageRequest): Promise<PageResponse | undefined> {
    if (name === 'index.html') await this.#notice()
    const found = await this.#find(name, encodingsOf(asked.headers['accept-encoding']))
    if (found === undefined) return name === 'index.html' ? missing() : undefined
    const mediaType = mediaTypes[extname(name)] ?? 'application/octet-stream'
    const isHashed = name.startsWith('files/')
    return {
      body: found.bytes,
      headers: {
        etag: found.etag,
        'content-type': mediaType,
        vary: 'accept-encoding',
        'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
        ...(found.encoding && { 'content-encoding': found.encoding }),
        ...(name === 'index.html' && { 'content-security-policy': policy }),
      },
    }
  }

  async #notice(): Promise<void> {
    const stamp = await readFile(join(distFolder, 'current'), 'utf8').catch(() => '')
    if (stamp === this.#stamp) return
    this.#stamp = stamp
    this.#files.clear()
  }

  /** Smallest first; what is not there in one form may be there in another. */
  async #find(name: string, encodings: readonly ('br' | 'gzip')[]): Promise<Kept | undefined> {
    if (this.#stamp === '') await this.#notice()
    for (const encoding of [...encodings, undefined]) {
      const found = await this.#read(name, encoding)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** What is missing is not remembered: anybody can make up names. */
  #read(name: string, encoding: Kept['encoding']): Promise<Kept | undefined> {
    const file = name + { br: '.br', gzip: '.gz', none: '' }[encoding ?? 'none']
    const kept = this.#files.get(file)
    if (kept !== undefined) return kept
    const reading = readFile(join(distFolder, this.#stamp, file)).then(
      (bytes) => ({ bytes, encoding, etag: etagOf(bytes) }),
      () => {
        this.#files.delete(file)
        return undefined
      },
    )
    this.#files.set(file, reading)
    return reading
  }
}

function encodingsOf(header: string | string[] | undefined): ('br' | 'gzip')[] {
  const accepted = String(header ?? '')
  return (['br', 'gzip'] as const).filter((encoding) =>
    new RegExp(`\\b${encoding}\\b(?!;q=0(?:\\.0+)?\\b)`).test(accepted),
  )
}

function missing(): PageResponse {
  return {
    status: 503,
    body: notBuilt,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'",
    },
  }
}
