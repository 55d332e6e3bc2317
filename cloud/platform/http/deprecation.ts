import type { Contract } from '@millwright/api/contract.ts'

/** A prefix that clients of before call by, what took its place, and what they are told about it. */
type Former = { prefix: string; successor: string; answersItself: boolean; headers: Record<string, string> }

export type FormerPrefixes = {
  /** The URL under which it is answered: the same one unless it begins with a former prefix. */
  current(url: string): string
  /** What an answer says about the URL it was asked by (RFC 9745, RFC 8594), if that is on its way out. */
  headersFor(url: string): Record<string, string>
}

export function formerPrefixes(contracts: Iterable<Contract>): FormerPrefixes {
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

function formersOf({ prefix: own, formerPrefixes = [], succeededBy }: Contract): Former[] {
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

function succeeding({ prefix, successor }: Former, url: string): string {
  return successor + url.slice(prefix.length)
}

/** A path as sent may hold what would end the link early. */
function inBrackets(path: string): string {
  return path.replace(/[^!#-;=?-~]/g, encodeURIComponent)
}
