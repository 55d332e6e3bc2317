import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { encodingsOf } from './platform/http/encodings.ts'
import { etagOf, type Page, type PageRequest, type PageResponse } from './platform/http/pages.ts'

const distFolder = fileURLToPath(new URL('../web/dist/', import.meta.url))

/**
 * The content security policy of the console. It allows only scripts and styles of the build, and only requests to the
 * platform. Trusted Types prevent scripts from turning text into markup, except with the policy that the console
 * installs for its own icons. Images may be blobs, because the console fetches state diagrams with a token and
 * displays them as blobs.
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
 * Serves the latest build of the console. File names below `/console/files/` change with their content, so browsers
 * cache these files. Every other path below `/console/` without an extension is a page of the console and returns the
 * HTML frame.
 */
export function consolePages(): Page[] {
  const builds = new BuildFiles()
  const frame = (request: PageRequest) => builds.serve('index.html', request)
  return [
    { path: '/', answer: frame },
    { path: '/auth/callback', answer: frame },
    { path: '/console', answer: frame },
    {
      path: '/console/*',
      answer(request) {
        const name = request.path.slice('/console/'.length)
        if (!isPlain(name)) return undefined
        return extname(name) === '' ? frame(request) : builds.serve(name, request)
      },
    },
  ]
}

/** Returns true for a plain file name, which cannot point outside the folder of the build. */
function isPlain(name: string): boolean {
  return !name.includes('..') && !name.includes('\0') && !name.includes('\\') && !/\.(br|gz|json)$/.test(name)
}

type CachedFile = { bytes: Buffer; etag: string; encoding: 'br' | 'gzip' | undefined }

/** `BuildFiles` caches the files of the current build. It detects a new build when the next page is requested. */
class BuildFiles {
  #stamp = ''
  readonly #files = new Map<string, Promise<CachedFile | undefined>>()

  async serve(name: string, request: PageRequest): Promise<PageResponse | undefined> {
    if (name === 'index.html') await this.#detectNewBuild()
    const file = await this.#find(name, encodingsOf(request.headers['accept-encoding']))
    if (file === undefined) return name === 'index.html' ? missing() : undefined
    const mediaType = mediaTypes[extname(name)] ?? 'application/octet-stream'
    const isHashed = name.startsWith('files/')
    return {
      body: file.bytes,
      headers: {
        etag: file.etag,
        'content-type': mediaType,
        vary: 'accept-encoding',
        'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
        ...(file.encoding && { 'content-encoding': file.encoding }),
        ...(name === 'index.html' && { 'content-security-policy': policy }),
      },
    }
  }

  async #detectNewBuild(): Promise<void> {
    const stamp = await readFile(join(distFolder, 'current'), 'utf8').catch(() => '')
    if (stamp === this.#stamp) return
    this.#stamp = stamp
    this.#files.clear()
  }

  /** Returns the file in the first accepted encoding that the build contains. Brotli is preferred to gzip. */
  async #find(name: string, encodings: readonly ('br' | 'gzip')[]): Promise<CachedFile | undefined> {
    if (this.#stamp === '') await this.#detectNewBuild()
    for (const encoding of [...encodings, undefined]) {
      const file = await this.#read(name, encoding)
      if (file !== undefined) return file
    }
    return undefined
  }

  /**
   * Reads a file and caches it. Missing files are not cached, because a client could fill the cache with invented
   * names.
   */
  #read(name: string, encoding: CachedFile['encoding']): Promise<CachedFile | undefined> {
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
