import type { Contract } from '@millwright/api/contract.ts'

/** A deprecated prefix, its successor, and the headers that announce its end. */
type DeprecatedPrefix = { prefix: string; successor: string; answersItself: boolean; headers: Record<string, string> }

export type DeprecatedPrefixes = {
  /** Returns the URL under which the request is handled. It differs from `url` only for a deprecated prefix. */
  current(url: string): string
  /** Returns the headers for responses below a deprecated prefix (RFC 9745, RFC 8594). Other URLs get no headers. */
  headersFor(url: string): Record<string, string>
}

export function formerPrefixes(contracts: Iterable<Contract>): DeprecatedPrefixes {
  const formers = [...new Set(contracts)].flatMap(formersOf)
  const formerOf = (url: string) => formers.find(({ prefix }) => isBelow(prefix, url))
  return {
    current(url) {
      const former = formerOf(url)
      return former === undefined || former.answersItself ? url : succeeding(former, url)
    },
    headersFor(url) {
      const former = formerOf(url)
      if (former === undefined) return {}
      const [path = ''] = succeeding(former, url).split('?')
      return { ...former.headers, link: `<${inBrackets(path)}>; rel="successor-version"` }
    },
  }
}

function formersOf({ prefix: own, formerPrefixes = [], succeededBy }: Contract): DeprecatedPrefix[] {
  const renamed = formerPrefixes.map(({ prefix, ...dates }) => {
    return { prefix, successor: own, answersItself: false, headers: headersOf(dates) }
  })
  if (succeededBy === undefined) return renamed
  const { prefix: successor, ...dates } = succeededBy
  return [...renamed, { prefix: own, successor, answersItself: true, headers: headersOf(dates) }]
}

function headersOf({ deprecatedOn, sunsetOn }: { deprecatedOn: string; sunsetOn: string }): Record<string, string> {
  return {
    deprecation: `@${Date.parse(deprecatedOn) / 1000}`,
    sunset: new Date(sunsetOn).toUTCString(),
  }
}

function isBelow(prefix: string, url: string): boolean {
  return url.startsWith(prefix) && ['/', '?', undefined].includes(url[prefix.length])
}

function succeeding({ prefix, successor }: DeprecatedPrefix, url: string): string {
  return successor + url.slice(prefix.length)
}

/** Escapes a path for a `Link` header. A path may contain characters that would end the link early. */
function inBrackets(path: string): string {
  return path.replace(/[^!#-;=?-~]/g, encodeURIComponent)
}
