/**
 * This file defines the Trusted Types policy of the console. The policy allows the static SVG icons of the design
 * system and the worker scripts of the console. For any other markup or script URL, the browser throws an error.
 */

type Policy = {
  createHTML(text: string): string | null
  createScriptURL(url: string): string | null
}
type Factory = { createPolicy(name: 'default', policy: Policy): unknown }

const activeMarkup =
  /<\s*(script|foreignobject|iframe|object|embed|use|image|style|link|animate|set|a)\b|\bon\w+\s*=|javascript:/i

const svgDocument = /^(data:image\/svg\+xml;utf8,)?(<\?xml [^<>]*\?>)?\s*<svg[\s>]/

export function isStaticSvg(text: string): boolean {
  return text === '' || (svgDocument.test(text) && !activeMarkup.test(text))
}

export function installTrustedTypes(): void {
  const { trustedTypes } = globalThis as { trustedTypes?: Factory }
  trustedTypes?.createPolicy('default', {
    createHTML: (text) => (isStaticSvg(text) ? text : null),
    createScriptURL: (url) => (new URL(url, location.href).href.startsWith(`${location.origin}/console/`) ? url : null),
  })
}
