import type { ITheme } from '@xterm/xterm'
import { useSyncExternalStore } from 'react'

/** The colours of terminals. xterm changes colours of the device that have too little contrast to the background. */
const themes: Readonly<Record<'light' | 'dark', ITheme>> = {
  light: {
    background: '#ffffff',
    foreground: '#1b1b1b',
    cursor: '#1b1b1b',
    cursorAccent: '#ffffff',
    selectionBackground: '#b3d7f2',
    black: '#1b1b1b',
    red: '#b3001b',
    green: '#0b6b2e',
    yellow: '#7a5b00',
    blue: '#0050a8',
    magenta: '#8a1c8a',
    cyan: '#00626e',
    white: '#5a5a5a',
    brightBlack: '#5a5a5a',
    brightRed: '#c8102e',
    brightGreen: '#12793a',
    brightYellow: '#8a6800',
    brightBlue: '#0a5fc2',
    brightMagenta: '#a12ba1',
    brightCyan: '#00707e',
    brightWhite: '#3a3a3a',
  },
  dark: {
    background: '#101418',
    foreground: '#e8e8e8',
    cursor: '#e8e8e8',
    cursorAccent: '#101418',
    selectionBackground: '#2f5f86',
    black: '#101418',
    red: '#ff7a85',
    green: '#67d68c',
    yellow: '#e6c35c',
    blue: '#7db8ff',
    magenta: '#e59be5',
    cyan: '#66d3de',
    white: '#d0d0d0',
    brightBlack: '#9a9a9a',
    brightRed: '#ff9aa2',
    brightGreen: '#8be3a8',
    brightYellow: '#f2d88a',
    brightBlue: '#a5ceff',
    brightMagenta: '#f0bdf0',
    brightCyan: '#93e3eb',
    brightWhite: '#ffffff',
  },
}

/** The options that all terminals of the console share. */
export const terminalOptions = {
  fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSize: 14,
  minimumContrastRatio: 4.5,
  /** The number of lines that can be scrolled back. */
  scrollback: 10_000,
}

/** Returns the colours of terminals in the current theme of the console. */
export function useTerminalTheme(): ITheme {
  const schema = useSyncExternalStore(watchSchema, () => document.documentElement.dataset.ixColorSchema)
  return schema === 'dark' ? themes.dark : themes.light
}

function watchSchema(onChange: () => void): () => void {
  const observer = new MutationObserver(onChange)
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-ix-color-schema'] })
  return () => observer.disconnect()
}
