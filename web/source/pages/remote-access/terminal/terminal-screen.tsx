import { FitAddon } from '@xterm/addon-fit'
import { Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { type Ref, useEffect, useEffectEvent, useImperativeHandle, useRef } from 'react'
import { terminalStyles } from './terminal-styles.ts'
import { terminalOptions, useTerminalTheme } from './terminal-theme.ts'

/** `ScreenHandle` lets the page write to the terminal and use the clipboard. */
export type ScreenHandle = {
  /** Returns false if the terminal cannot show the output, because it still processes earlier output. */
  write(output: Uint8Array | string): boolean
  selection(): string
  paste(text: string): void
  focus(): void
  size(): { columns: number; rows: number }
}

type TerminalScreenProps = {
  ref: Ref<ScreenHandle>
  label: string
  isScreenReaderMode: boolean
  /** Is called when the screen is ready and after each change of its size. */
  onSize: (size: { columns: number; rows: number }) => void
  onText: (text: string) => void
  onBinary: (text: string) => void
  /** Copies the selected text. */
  onCopy: () => void
  /** Moves the focus out of the terminal. */
  onLeave: () => void
}

/** The maximum number of bytes that wait to be shown. Further output is skipped. */
const maxPendingBytes = 16 * 1024 * 1024

/** `TerminalScreen` shows a terminal with xterm and adapts its size to the available space. */
export function TerminalScreen({ ref, label, isScreenReaderMode, ...handlers }: TerminalScreenProps) {
  const place = useRef<HTMLDivElement>(null)
  const terminal = useRef<Terminal>(undefined)
  const pendingBytes = useRef(0)
  const theme = useTerminalTheme()

  useImperativeHandle(ref, () => ({
    write(output) {
      if (pendingBytes.current > maxPendingBytes) return false
      pendingBytes.current += output.length
      terminal.current?.write(output, () => {
        pendingBytes.current -= output.length
      })
      return true
    },
    selection: () => terminal.current?.getSelection() ?? '',
    paste: (text) => terminal.current?.paste(text),
    focus: () => terminal.current?.focus(),
    size: () => ({ columns: terminal.current?.cols ?? 80, rows: terminal.current?.rows ?? 24 }),
  }))

  const onSize = useEffectEvent(handlers.onSize)
  const onText = useEffectEvent(handlers.onText)
  const onBinary = useEffectEvent(handlers.onBinary)
  const onKey = useEffectEvent((event: KeyboardEvent): boolean => {
    if (event.type !== 'keydown') return true
    const isClipboardKey = event.ctrlKey && event.shiftKey && !event.altKey
    if (isClipboardKey && event.code === 'KeyC') {
      event.preventDefault()
      handlers.onCopy()
      return false
    }
    // The browser pastes, and xterm receives the text as a paste event.
    if (isClipboardKey && event.code === 'KeyV') return false
    if (event.shiftKey && event.key === 'F6') {
      event.preventDefault()
      handlers.onLeave()
      return false
    }
    return true
  })
  const firstTheme = useEffectEvent(() => theme)

  useEffect(() => {
    const element = place.current
    if (element === null) return
    const styles = terminalStyles()
    const created = new Terminal({ ...terminalOptions, theme: firstTheme() })
    const fit = new FitAddon()
    created.loadAddon(fit)
    styles.open(() => created.open(element))
    created.attachCustomKeyEventHandler((event) => onKey(event))
    created.onData((text) => onText(text))
    created.onBinary((text) => onBinary(text))
    fit.fit()
    terminal.current = created
    onSize({ columns: created.cols, rows: created.rows })
    created.onResize(({ cols, rows }) => onSize({ columns: cols, rows }))
    const observer = new ResizeObserver(() => fit.fit())
    observer.observe(element)
    return () => {
      observer.disconnect()
      created.dispose()
      styles.dispose()
      terminal.current = undefined
    }
  }, [])
  useEffect(() => {
    if (terminal.current === undefined) return
    terminal.current.options.theme = theme
    terminal.current.options.screenReaderMode = isScreenReaderMode
  }, [theme, isScreenReaderMode])
  useEffect(() => {
    terminal.current?.textarea?.setAttribute('aria-label', label)
  }, [label])

  return <div ref={place} className="terminal-screen" />
}
