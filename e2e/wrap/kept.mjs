// The events of one session, kept so that a broken stream is taken up.

export class Kept {
    #events = [];

    async storeEvent(streamId, message) {
        this.#events.push({ streamId, message });
        return String(this.#events.length);
    }

    async replayEventsAfter(lastEventId, { send }) {
        const from = Number(lastEventId);
        const { streamId } = this.#events[from - 1];
        for (const [at, event] of this.#events.entries()) {
            // The first event of a stream has no message: it is there to have an id.
            if (at >= from && event.streamId === streamId && event.message?.jsonrpc) await send(String(at + 1), event.message);
        }
        return streamId;
    }
}
