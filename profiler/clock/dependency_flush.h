#pragma once
#include <optional>

#include "profiler/clock/flush.h"
#include "profiler/clock/transfers_under_way.h"

namespace pipescope::clock {

/// A flush in which a task starts when its place is free and its inputs have arrived. If transfers, or
/// collectives in passes, share links, events are processed in the order of time. Otherwise any order gives
/// the same times.
class DependencyFlush : public Flush {
 public:
  DependencyFlush(const Call& call, const Host& host, PlaceClocks& clocks, Contention* contention);

  Ticks next() const override;
  void process(Ticks now) override;
  void retime(Ticks now) override;
  void beginBeside(int place, int load, Ticks now, Ticks ticks) override;

 private:
  /// The arrival of a message. A flush holds one for each stage, direction and micro-batch, so that its size
  /// decides how fast the clock is.
  struct Arrival {
    Ticks sent, arrived;  ///< times at which the producer ended and its bytes arrived
    model::PlacementId source;
    int place = -1;
    int iteration = -1;  ///< it belongs to; in another one the arrival is not known yet
    /// False while a send that blocks waits for its receiver.
    bool taken() const { return arrived.count != INT64_MIN; }
  };
  /// Sends of a place's last block that block it, and the one of them that ends last.
  struct Sending {
    int left = 0;                            ///< number that no receiver has taken yet
    Ticks begin{INT64_MIN}, end{INT64_MIN};  ///< time in which the last one moves
    model::PlacementId source;               ///< what let it begin
    int receiver = -1;
    WorkOf work;
  };
  struct Event {
    /// The order in which events of one time are processed. Transfers end first, so that their bytes are
    /// there when a block ends.
    enum class Kind { transferEnds, useBegins, pieceEnds, gradientsReady, blockEnds };
    Ticks time;
    int id = 0;  ///< a place, the index of a transfer, or a stage with gradients
    /// `changes` of the transfer when this event was made; the event is void if it differs. Index of the
    /// collective that waits for the gradients.
    std::uint32_t changes = 0;
    Kind kind = Kind::transferEnds;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      if (a.time != b.time) return a.time > b.time;
      if (a.kind != b.kind) return a.kind > b.kind;
      return a.id > b.id;
    }
  };
  /// The piece with collectives on shared links that a place is at.
  struct SharedPiece {
    const std::vector<LinkUse>* uses = nullptr;
    std::size_t use = 0;  ///< the one that is next or under way
    Ticks start, length, delay;
  };

  void startTasks() override;
  bool done() const override;
  void backwardPieceEnds(const Task& task, int after, Ticks time) override;
  void findOrder();
  void push(const Event& event);
  void runUnordered();
  /// Places the block of the place up to the next piece that shares links, or to its end.
  void placeOn(int place);
  /// Waits for the next collective of the piece that the place is at, at `now` or later, or for its end.
  void nextUse(int place, Ticks now);
  void useEnds(int place, Ticks now);
  void beginLoad(int place, int load, Ticks now, Ticks ticks, bool beside);
  /// Starts the next block of the place if the arrivals of all its inputs are known.
  void start(int place) { call_.blockingSends ? startWithMessages(place) : startBlock(place); }
  void startWithMessages(int place);
  void startBlock(int place);
  /// Takes the messages for the next block of the place, whose sends wait for it. Returns the
  /// senders.
  std::vector<int> takeMessages(int place);
  /// Takes the message for the task, and returns the place that sent it.
  int take(Arrival& arrival, const Task& task, int place);
  /// Lets the place wait until the receivers have taken what its last block sent.
  void waitForReceivers(int place);
  /// Sets `needed` to the input that the task waits for, or to null. Returns false if that input is not known
  /// yet. A trace that begins or ends within an iteration lacks some inputs; nothing waits for those.
  bool input(const Task& task, Arrival*& needed);
  /// Returns the time at which a place of a measured run has received the message. Such a place receives one
  /// message after another, in the order of its tasks, so that a late message blocks those behind it.
  Ticks received(const Arrival& arrival, const Task& task, Ticks lastReceived);
  Ticks messageTicks(const Task& task, Ticks begin, Ticks ticks);
  void waitFor(const Arrival& arrival, Ticks arrived, int place, const Task& task);
  void blockEnds(int place);
  void send(int place, const Task& task);
  Ticks flowTicks(int index, int microBatch) const;
  void transferEnds(int index);
  void arrive(const Task& task, const Arrival& arrival);

  /// Index of what the task sends, as its neighbour sees it.
  std::size_t index(int stage, model::Pass pass, int microBatch) const {
    return (static_cast<std::size_t>(stage) * 2 + directionOf(pass)) *
               static_cast<std::size_t>(call_.microBatches) +
           static_cast<std::size_t>(microBatch);
  }
  static std::size_t directionOf(model::Pass pass) { return pass == model::Pass::forward ? 0 : 1; }
  int flowOf(int stage, model::Pass pass) const {
    return flowOf_[static_cast<std::size_t>(stage) * 2 + directionOf(pass)];
  }
  bool firstOfPipe(int stage) const { return stage % stagesOfPipe_ == 0; }
  bool lastOfPipe(int stage) const { return (stage + 1) % stagesOfPipe_ == 0; }

  Contention* contention_;
  std::optional<TransfersUnderWay> sharing_;  ///< none: no flows share links
  int stagesOfPipe_ = 1;
  std::int64_t blocks_ = 0;          ///< number so far
  std::vector<int> flowOf_;          ///< flow index of each stage and direction, or −1
  std::vector<SharedPiece> shared_;  ///< by place
  std::vector<int> lastBackward_;    ///< by stage: micro-batch of its last backward task; −1: it has none
  std::vector<Sending> sending_;     ///< by place; empty if sends do not block
  std::vector<WorkOf> sent_;         ///< by arrival: what was sent; empty if sends do not block
  std::vector<Ticks> received_;      ///< time at which each place received its last message
  std::vector<Arrival> arrivals_, left_;  ///< left_ by micro-batch: end of its last task, for one at a time
  const Order* madeBy_ = nullptr;
  std::vector<char> made_;     ///< true for arrivals that the order madeBy_ makes
  std::vector<Event> events_;  ///< a heap; used if transfers share links
  std::vector<int> ended_;     ///< places whose blocks end; used otherwise
};

}  // namespace pipescope::clock
