import { Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { iconPause, iconPlay } from '@siemens/ix-icons/icons'
import { IxIconButton } from '@siemens/ix-react'
import { useEffect, useEffectEvent, useMemo, useRef, useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { CheckField, Field, SelectField } from '../../../components/forms/fields.tsx'
import { clockText } from '../sessions/session-times.ts'
import { terminalStyles } from '../terminal/terminal-styles.ts'
import { terminalOptions, useTerminalTheme } from '../terminal/terminal-theme.ts'
import { type CastEvent, eventsBetween, nextEventTime, parseCast } from './asciicast.ts'
import { recordingMessages } from './messages.ts'

const speeds = ['0.5', '1', '2', '4', '8']
/** The longest pause, in seconds, that is played while pauses are skipped. */
const longestPause = 1

/** `Player` plays the recording of a terminal: play, pause, speed, position. */
export function Player({ content }: { content: string }) {
  const text = useText(recordingMessages)
  const cast = useMemo(() => parseCast(content), [content])
  const place = useRef<HTMLDivElement>(null)
  const terminal = useRef<Terminal>(undefined)
  const [position, setPosition] = useState(0)
  const [isPlaying, setPlaying] = useState(false)
  const [speed, setSpeed] = useState('1')
  const [skipsPauses, setSkipsPauses] = useState(true)
  const theme = useTerminalTheme()

  const show = (events: readonly CastEvent[]) => {
    for (const event of events) {
      if ('output' in event) terminal.current?.write(event.output)
      else terminal.current?.resize(event.size.columns, event.size.rows)
    }
  }
  const firstTheme = useEffectEvent(() => theme)
  const showStart = useEffectEvent(() => show(eventsBetween(cast, -1, 0)))
  useEffect(() => {
    const styles = terminalStyles()
    const created = new Terminal({
      ...terminalOptions,
      cols: cast.size.columns,
      rows: cast.size.rows,
      theme: firstTheme(),
      disableStdin: true,
    })
    styles.open(() => created.open(place.current as HTMLElement))
    created.textarea?.setAttribute('tabindex', '-1')
    terminal.current = created
    showStart()
    return () => {
      created.dispose()
      styles.dispose()
      terminal.current = undefined
    }
  }, [cast])
  useEffect(() => {
    if (terminal.current !== undefined) terminal.current.options.theme = theme
  }, [theme])

  const seek = (next: number) => {
    if (next < position) {
      terminal.current?.reset()
      terminal.current?.resize(cast.size.columns, cast.size.rows)
      show(eventsBetween(cast, -1, next))
    } else show(eventsBetween(cast, position, next))
    setPosition(next)
  }
  const advance = useEffectEvent((seconds: number) => {
    const following = nextEventTime(cast, position)
    if (following === undefined) return setPlaying(false)
    const isLongPause = skipsPauses && following - position > longestPause
    seek(isLongPause ? following - longestPause : Math.min(position + seconds * Number(speed), cast.durationSeconds))
  })
  useEffect(() => {
    if (!isPlaying) return
    let last = performance.now()
    let frame = requestAnimationFrame(function tick(now) {
      advance((now - last) / 1000)
      last = now
      frame = requestAnimationFrame(tick)
    })
    return () => cancelAnimationFrame(frame)
  }, [isPlaying])
  const toggle = () => {
    if (!isPlaying && position >= cast.durationSeconds) seek(0)
    setPlaying(!isPlaying)
  }
  const shownPosition = text.positionText(clockText(position * 1000), clockText(cast.durationSeconds * 1000))
  return (
    <div className="player">
      <section className="player-screen" ref={place} aria-label={text.playback} />
      <div className="player-controls">
        <IxIconButton
          icon={isPlaying ? iconPause : iconPlay}
          aria-label={isPlaying ? text.pause : text.play}
          onClick={toggle}
        />
        <Field label={text.position} isLabelUnseen>
          {({ id }) => (
            <input
              id={id}
              className="player-position"
              type="range"
              min={0}
              max={cast.durationSeconds}
              step="any"
              value={position}
              aria-valuetext={shownPosition}
              onChange={({ target }) => seek(Number(target.value))}
            />
          )}
        </Field>
        <span className="player-time">{shownPosition}</span>
        <SelectField
          label={text.speed}
          isLabelUnseen
          value={speed}
          onChange={setSpeed}
          choices={speeds.map((value) => ({ value, label: `${value}×` }))}
        />
        <CheckField label={text.skipPauses} isChecked={skipsPauses} onChange={setSkipsPauses} />
      </div>
    </div>
  )
}
